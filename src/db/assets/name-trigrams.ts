// The words under which names are found by a part of them: every three characters that stand together, folded, with a mark of
// the owner before them. So a search goes through what the owner has, and takes no longer for what others have.
import { sha256 } from '../../shared/hashes.ts'
import type { OwnerScope } from '../owner-scope.ts'
import { foldText } from '../text-folding.ts'

/** Characters (of UTF-16) of a word, besides the mark. */
const GRAM = 3
/** Hexadecimal characters. Owners whose marks are the same find each other's rows and are not shown them. */
const MARK = 10
/** More words of a text hardly narrow a search further, and each takes its time. */
const MAX_QUERY_WORDS = 3

/** The words of a name, as a text in which spaces stand between them. */
export function nameTrigrams(user_id: unknown, workspace_id: unknown, name: unknown): string {
  const mark = ownerMark(String(user_id), workspace_id === null ? null : String(workspace_id))
  const text = foldText(String(name))
  const words = new Set<string>()
  for (let at = 0; at + GRAM <= text.length; at++) words.add(mark + wordAt(text, at))
  return [...words].join(' ')
}

/**
 * A query for the names of an owner that may hold `part`, which is folded; null where it is too short to ask. Whether they do, is to be
 * looked at.
 */
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

/** Words of letters and digits alone, for a tokenizer that knows no others. */
function wordAt(text: string, at: number): string {
  let word = ''
  for (let i = at; i < at + GRAM; i++) word += text.charCodeAt(i).toString(16).padStart(4, '0')
  return word
}
