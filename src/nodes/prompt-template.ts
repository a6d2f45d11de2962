// Prompts with places and sections: `{{name}}`, `{{#name}}…{{/name}}`, `{{^name}}…{{/name}}`. A subset of Mustache, with the paths of
// text.Template and without what changes its meaning from afar: no partials, no lambdas, no looking up in the sections around.
import { NodeError } from '../engine/node-error.ts'
import type { Inputs } from '../engine/node-type.ts'
import { hint } from '../engine/suggest.ts'
import { budget, guardText, type Spend, shown } from './limits.ts'
import { follow, pathParts, toText } from './values.ts'

const TAG = /\{\{([#^/]?)([^{}]*)\}\}/g

/** Sections within sections. */
const DEEPEST = 16
/** Nobody means more of them, and each costs some time. */
const MOST_TAGS = 100_000
/** Characters of a path that are read in the time of one step. */
const READ = 16

export type Piece =
  | string
  | { readonly kind: 'value'; readonly path: string }
  /** `given`: it stands where there is something, once for each item of a list; else where there is nothing. */
  | { readonly kind: 'section'; readonly path: string; readonly given: boolean; readonly pieces: readonly Piece[] }

interface Open {
  readonly path: string
  readonly given: boolean
  readonly pieces: Piece[]
}

/** @throws NodeError `bad_template` */
export function piecesOf(template: string): readonly Piece[] {
  const root: Open = { path: '', given: true, pieces: [] }
  const open: Open[] = [root]
  let from = 0
  let tags = 0
  for (const { 0: tag, 1: sign, 2: inner = '', index } of template.matchAll(TAG)) {
    if (++tags > MOST_TAGS) throw bad(`The template has more than ${MOST_TAGS.toLocaleString('en')} tags.`)
    const { pieces } = open.at(-1)!
    if (index > from) pieces.push(template.slice(from, index))
    from = index + tag.length
    const path = inner.trim()
    if (sign === '') pieces.push({ kind: 'value', path })
    else if (sign === '/') close(open, path)
    else if (open.length > DEEPEST) throw bad(`The template has sections more than ${DEEPEST} levels deep.`)
    else open.push({ path, given: sign === '#', pieces: [] })
  }
  if (open.length > 1) throw bad(`The section "${shown(open.at(-1)!.path)}" of the template has no end.`)
  root.pieces.push(template.slice(from))
  return root.pieces
}

function close(open: Open[], path: string): void {
  const last = open.length > 1 ? open.pop()! : null
  if (last?.path !== path) {
    const which = last ? `, where "${shown(last.path)}" is open` : ', which was not begun'
    throw bad(`The template ends the section "${shown(path)}"${which}.`)
  }
  open.at(-1)!.pieces.push({ kind: 'section', ...last })
}

function bad(message: string): NodeError {
  return new NodeError(message, 'bad_template')
}

/** The names of all inputs that a template looks at; what begins with a dot is of the item of a section. @throws NodeError `bad_template`, `bad_path` */
export function namesIn(pieces: readonly Piece[]): Set<string> {
  const names = new Set<string>()
  for (const piece of pieces) {
    if (typeof piece === 'string') continue
    if (!piece.path.startsWith('.')) names.add(piece.path)
    if (piece.kind === 'section') for (const name of namesIn(piece.pieces)) names.add(name)
  }
  return names
}

/** @throws NodeError `unknown_name`, `bad_path`, `too_large` */
export function written(pieces: readonly Piece[], inputs: Inputs): string {
  const parts: string[] = []
  let length = 0
  const put = (text: string) => {
    length += text.length
    guardText(length)
    parts.push(text)
  }
  write(pieces, { inputs, item: undefined, put, spend: budget(), known: new Map(), texts: new Map() })
  return parts.join('')
}

interface Scope {
  readonly inputs: Inputs
  /** Of the innermost section that stands for each item of a list; undefined outside of all. */
  item: unknown
  put(text: string): void
  readonly spend: Spend
  /** The parts of each path that was read. */
  readonly known: Map<string, readonly string[]>
  /** The texts of lists and objects that were written: one may be meant many times. */
  readonly texts: Map<object, string>
}

function write(pieces: readonly Piece[], scope: Scope): void {
  scope.spend(pieces.length)
  for (const piece of pieces) {
    if (typeof piece === 'string') scope.put(piece)
    else if (piece.kind === 'value') scope.put(textOf(valueAt(piece.path, scope), scope))
    else writeSection(piece, scope)
  }
}

function textOf(value: unknown, { texts }: Scope): string {
  if (typeof value !== 'object' || value === null) return toText(value)
  const text = texts.get(value) ?? toText(value)
  texts.set(value, text)
  return text
}

function writeSection({ path, given, pieces }: Extract<Piece, { kind: 'section' }>, scope: Scope): void {
  const value = valueAt(path, scope)
  if (isSomething(value) !== given) return
  if (!given) return write(pieces, scope)
  const items: readonly unknown[] = Array.isArray(value) ? value : [value]
  // What is in the section costs for itself; that it stands costs even where nothing is in it.
  scope.spend(items.length)
  const inner = { ...scope }
  for (const item of items) {
    inner.item = item
    write(pieces, inner)
  }
}

function isSomething(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0
  return value !== null && value !== undefined && value !== false && value !== ''
}

/** What a path stands for; null where nothing is there. */
function valueAt(path: string, scope: Scope): unknown {
  const { inputs, item, spend } = scope
  if (path.startsWith('.')) {
    if (item === undefined) throw unknown(path, 'stands in no section')
    if (path === '.') return item
    const parts = partsOf(path, scope)
    spend(parts.length)
    return follow(item, parts) ?? null
  }
  if (Object.hasOwn(inputs, path)) return inputs[path]
  const [name = '', ...rest] = partsOf(path, scope)
  if (!Object.hasOwn(inputs, name)) throw unknown(path, `is no input.${hint(shown(path), Object.keys(inputs))}`)
  spend(rest.length)
  return follow(inputs[name], rest) ?? null
}

/** The parts of a path, behind the dot of one that begins with it. Each is read once. */
function partsOf(path: string, { known, spend }: Scope): readonly string[] {
  const before = known.get(path)
  if (before) return before
  spend(Math.ceil(path.length / READ))
  const parts = pathParts(path.startsWith('.') ? path.slice(1) : path)
  known.set(path, parts)
  return parts
}

function unknown(path: string, why: string): NodeError {
  return new NodeError(
    `The template uses "${shown(path)}", which ${why}${why.endsWith('.') ? '' : '.'}`,
    'unknown_name',
  )
}
