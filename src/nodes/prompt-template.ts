// Prompt templates with values and sections: `{{name}}`, `{{#name}}…{{/name}}`, `{{^name}}…{{/name}}`. They are a subset of Mustache with
// the paths of text.Template, without partials, lambdas and lookup in outer sections, because these make a template hard to read.

import { suggestName } from '../engine/node-api/did-you-mean.ts'
import type { InputValues } from '../engine/node-api/firing-forms.ts'
import { NodeError } from '../engine/node-api/node-error.ts'
import { abbreviate, createStepBudget, guardTextLength, type StepBudget } from './shared/value-limits.ts'
import { parsePathTexts, readAtPath, toText } from './shared/value-operations.ts'

const TAG = /\{\{([#^/]?)([^{}]*)\}\}/g

/** Nested sections. */
const DEEPEST_SECTION = 16
/** In tags. No real template has more, and each costs some time. */
const MOST_TAGS = 100_000
/** Characters of a path that are read in the time of one step. */
const PATH_CHARACTERS_PER_STEP = 16

export type TemplatePiece =
  | string
  | { readonly kind: 'value'; readonly path: string }
  /** `given`: the section is rendered if there is a value, once for each item of a list; otherwise it is rendered if there is none. */
  | {
      readonly kind: 'section'
      readonly path: string
      readonly given: boolean
      readonly pieces: readonly TemplatePiece[]
    }

interface OpenSection {
  readonly path: string
  readonly given: boolean
  readonly pieces: TemplatePiece[]
}

/** @throws NodeError `bad_template` */
export function parsePromptTemplate(template: string): readonly TemplatePiece[] {
  const root: OpenSection = { path: '', given: true, pieces: [] }
  const open: OpenSection[] = [root]
  let from = 0
  let tags = 0
  for (const { 0: tag, 1: sign, 2: inner = '', index } of template.matchAll(TAG)) {
    if (++tags > MOST_TAGS) throw badTemplateError(`The template has more than ${MOST_TAGS.toLocaleString('en')} tags.`)
    const { pieces } = open.at(-1)!
    if (index > from) pieces.push(template.slice(from, index))
    from = index + tag.length
    const path = inner.trim()
    if (sign === '') pieces.push({ kind: 'value', path })
    else if (sign === '/') closeSection(open, path)
    else if (open.length > DEEPEST_SECTION)
      throw badTemplateError(`The template has sections more than ${DEEPEST_SECTION} levels deep.`)
    else open.push({ path, given: sign === '#', pieces: [] })
  }
  if (open.length > 1)
    throw badTemplateError(`The section "${abbreviate(open.at(-1)!.path)}" of the template is not closed.`)
  root.pieces.push(template.slice(from))
  return root.pieces
}

function closeSection(open: OpenSection[], path: string): void {
  const last = open.length > 1 ? open.pop()! : null
  if (last?.path !== path) {
    const which = last ? `, where "${abbreviate(last.path)}" is open` : ', which was not opened'
    throw badTemplateError(`The template closes the section "${abbreviate(path)}"${which}.`)
  }
  open.at(-1)!.pieces.push({ kind: 'section', ...last })
}

function badTemplateError(message: string): NodeError {
  return new NodeError(message, 'bad_template')
}

/**
 * The names of all inputs that a template uses. Paths with a leading dot refer to the item of a section. @throws NodeError `bad_template`,
 * `bad_path`
 */
export function collectInputNames(pieces: readonly TemplatePiece[]): Set<string> {
  const names = new Set<string>()
  for (const piece of pieces) {
    if (typeof piece === 'string') continue
    if (!piece.path.startsWith('.')) names.add(piece.path)
    if (piece.kind === 'section') for (const name of collectInputNames(piece.pieces)) names.add(name)
  }
  return names
}

/** @throws NodeError `unknown_name`, `bad_path`, `too_large` */
export function renderPromptTemplate(pieces: readonly TemplatePiece[], inputs: InputValues): string {
  const parts: string[] = []
  let length = 0
  const put = (text: string) => {
    length += text.length
    guardTextLength(length)
    parts.push(text)
  }
  renderPieces(pieces, { inputs, item: undefined, put, spend: createStepBudget(), known: new Map(), texts: new Map() })
  return parts.join('')
}

interface RenderScope {
  readonly inputs: InputValues
  /** The item of the innermost section over a list; undefined outside of all sections. */
  item: unknown
  put(text: string): void
  readonly spend: StepBudget
  /** The parts of each path that was read. */
  readonly known: Map<string, readonly string[]>
  /** The texts of lists and objects, because one may be used many times. */
  readonly texts: Map<object, string>
}

function renderPieces(pieces: readonly TemplatePiece[], scope: RenderScope): void {
  scope.spend(pieces.length)
  for (const piece of pieces) {
    if (typeof piece === 'string') scope.put(piece)
    else if (piece.kind === 'value') scope.put(formatValue(resolveValue(piece.path, scope), scope))
    else renderSection(piece, scope)
  }
}

function formatValue(value: unknown, { texts }: RenderScope): string {
  if (typeof value !== 'object' || value === null) return toText(value)
  const text = texts.get(value) ?? toText(value)
  texts.set(value, text)
  return text
}

function renderSection({ path, given, pieces }: Extract<TemplatePiece, { kind: 'section' }>, scope: RenderScope): void {
  const value = resolveValue(path, scope)
  if (isPresent(value) !== given) return
  if (!given) return renderPieces(pieces, scope)
  const items: readonly unknown[] = Array.isArray(value) ? value : [value]
  // A section costs a step even if it is empty; its content costs extra.
  scope.spend(items.length)
  const inner = { ...scope }
  for (const item of items) {
    inner.item = item
    renderPieces(pieces, inner)
  }
}

function isPresent(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0
  return value !== null && value !== undefined && value !== false && value !== ''
}

/** The value at a path, or null if there is none. */
function resolveValue(path: string, scope: RenderScope): unknown {
  const { inputs, item, spend } = scope
  if (path.startsWith('.')) {
    if (item === undefined) throw unknownNameError(path, 'is outside of any section')
    if (path === '.') return item
    const parts = parseCachedPath(path, scope)
    spend(parts.length)
    return readAtPath(item, parts) ?? null
  }
  if (Object.hasOwn(inputs, path)) return inputs[path]
  const [name = '', ...rest] = parseCachedPath(path, scope)
  if (!Object.hasOwn(inputs, name))
    throw unknownNameError(path, `is not an input.${suggestName(abbreviate(path), Object.keys(inputs))}`)
  spend(rest.length)
  return readAtPath(inputs[name], rest) ?? null
}

/** The parts of a path, without a leading dot. Each path is parsed once. */
function parseCachedPath(path: string, { known, spend }: RenderScope): readonly string[] {
  const before = known.get(path)
  if (before) return before
  spend(Math.ceil(path.length / PATH_CHARACTERS_PER_STEP))
  const parts = parsePathTexts(path.startsWith('.') ? path.slice(1) : path)
  known.set(path, parts)
  return parts
}

function unknownNameError(path: string, why: string): NodeError {
  return new NodeError(
    `The template uses "${abbreviate(path)}", which ${why}${why.endsWith('.') ? '' : '.'}`,
    'unknown_name',
  )
}
