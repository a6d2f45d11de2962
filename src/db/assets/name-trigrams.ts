// The words that find names by a part: every three consecutive characters, folded, with a mark of the owner before them. So a search visits only the
// owner's names, and does not take longer because of others.
import { sha256 } from '../../shared/hashes.ts'
import type { OwnerScope } from '../owner-scope.ts'
import { foldText } from '../text-folding.ts'

/** UTF-16 characters of a word, without the mark. */
const GRAM = 3
/** Hexadecimal characters. Owners with equal marks find each other's rows, which later conditions exclude. */
const MARK = 10
/** More words hardly narrow a search further, and each takes time. */
const MAX_QUERY_WORDS = 3

/** The words of a name, joined with spaces. */
export function nameTrigrams(user_id: unknown, workspace_id: unknown, name: unknown): string {
  const mark = ownerMark(String(user_id), workspace_id === null ? null : String(workspace_id))
  const text = foldText(String(name))
  const words = new Set<string>()
  for (let at = 0; at + GRAM <= text.length; at++) words.add(mark + wordAt(text, at))
  return [...words].join(' ')
}

/** A query for the owner's names that may contain `part`, which is folded; null: it is too short. The caller must check the names that are found. */
export function nameTrigramQuery({ user_id, workspace_id }: OwnerScope, part: string): string | null {
  const last = part.length - GRAM
  if (last < 0) return null
  const mark = ownerMark(user_id, workspace_id)
  const step = Math.max(GRAM, last / (MAX_QUERY_WORDS - 1))
  const words = new Set([mark + wordAt(part, last)])
  for (let at = 0; at < last; at += step) words.add(mark + wordAt(part, Math.floor(at)))
  return [...words].join(' AND ')
}

function ownerMark(user_id: string, workspace_id: string | null): string {
  return `o${sha256(`${user_id}\0${workspace_id ?? ''}`).slice(0, MARK)}`
}

/** Words of letters and digits only, which every tokenizer accepts. */
function wordAt(text: string, at: number): string {
  let word = ''
  for (let i = at; i < at + GRAM; i++) word += text.charCodeAt(i).toString(16).padStart(4, '0')
  return word
}
