// Replaces matches of a pattern in a text: at once, or piece by piece with the same result. Of a streamed text only the
// part is held that decides about a match. Then the mark is emitted, and the rest of the match is dropped as it
// arrives.
import type { Continuation } from '../streams/secret-replacer.ts'

/** A pattern to replace. All expressions except `begins` are sticky. */
export interface TextPattern {
  /** The first word of a match, anywhere (`g`). It looks back at most CONTEXT_LENGTH characters. */
  readonly begins: RegExp
  /**
   * Matches enough from the first word on to identify the match. Then follow `rest` and `close`, which may be empty.
   */
  readonly whole: RegExp
  readonly rest: RegExp
  readonly close: RegExp
  /** The replacement, or null if this is no match. `before` is the character before it. */
  told(found: RegExpExecArray, before: string): string | null
}

/** A pattern that also works on a streamed text. Expressions that end with `$` match at the end of the text so far. */
export interface StreamPattern extends TextPattern {
  /** The end of a text that may begin the first word (`g`), of at most `longest` characters. */
  readonly opening: RegExp
  readonly longest: number
  /** From the first word to the end of a text that may still change the match. A constant limits its length. */
  readonly unsure: RegExp
  /** From the first word to its value, which must not be empty. */
  readonly begun: RegExp
  /** The replacement of a value that is cut off. */
  readonly mark: string
  /** Whether the match is certain, whatever follows. */
  certain(found: RegExpExecArray): boolean
  /** From the end of `rest` to the end of a text: the following text decides whether this belongs to the match. */
  readonly open: RegExp
}

/** Decided characters that are kept, since they say where a word begins. */
const CONTEXT_LENGTH = 2

/** The state between two pieces. */
export interface PatternState {
  /** The last decided characters, before replacement. */
  readonly context: string
  readonly held: string
  /** Whether the held text continues a match. */
  readonly inside: boolean
}

export const INITIAL_PATTERN_STATE: PatternState = { context: '', held: '', inside: false }

export interface PieceReplacement {
  readonly told: string
  readonly after: PatternState
}

export function replacePattern(pattern: TextPattern, text: string): string {
  return replaceFrom(pattern, null, INITIAL_PATTERN_STATE, text).told
}

/**
 * Processes the next piece of a text. The outputs of all pieces, joined, equal the result of `replacePattern` for the
 * whole text.
 */
export function replacePatternInPiece(
  shape: StreamPattern,
  before: PatternState,
  piece: string,
  rest: Continuation,
): PieceReplacement {
  if (piece === '' && rest === 'more') return { told: '', after: before }
  const { told, after } = replaceFrom(shape, rest === 'none' ? null : shape, before, piece)
  return rest === 'missing' ? { told: told + replaceCut(shape, after), after: INITIAL_PATTERN_STATE } : { told, after }
}

/** The output for the held text if the rest of the text is missing. */
function replaceCut(shape: StreamPattern, { context, held, inside }: PatternState): string {
  const begun = inside ? null : matchAt(shape.begun, context + held, context.length)
  if (begun) return `${begun[0]}${shape.mark}`
  return replaceFrom(shape, null, { context, held, inside }, '').told
}

/** `shape` is set while more text may follow. */
function replaceFrom(
  pattern: TextPattern,
  shape: StreamPattern | null,
  before: PatternState,
  piece: string,
): PieceReplacement {
  const text = before.context + before.held + piece
  let told = ''
  let at = before.context.length
  let inside = before.inside
  for (;;) {
    if (inside) {
      at = findEnd(pattern.rest, text, at)
      if (shape && matchesAt(shape.open, text, at)) return { told, after: holdFrom(text, at, true) }
      at = findEnd(pattern.close, text, at)
    }
    const next = findNext(pattern, shape, text, at)
    told += text.slice(at, next.at) + next.told
    at = next.end
    inside = next.inside
    if (!inside) return { told, after: holdFrom(text, at, false) }
  }
}

interface NextMatch {
  /** The text before this position stays unchanged. */
  readonly at: number
  readonly told: string
  /** The text before this position is decided. */
  readonly end: number
  readonly inside: boolean
}

/** The next match, certain or possible. */
function findNext(pattern: TextPattern, shape: StreamPattern | null, text: string, from: number): NextMatch {
  pattern.begins.lastIndex = from
  for (let word = pattern.begins.exec(text); word; word = pattern.begins.exec(text)) {
    const at = word.index
    const found = matchAt(pattern.whole, text, at)
    const told = found && pattern.told(found, text.charAt(at - 1))
    const isSure = told !== null && found !== null && (shape?.certain(found) ?? true)
    if (shape && !isSure && matchesAt(shape.unsure, text, at)) return { at, told: '', end: at, inside: false }
    if (told !== null) return { at, told, end: pattern.whole.lastIndex, inside: true }
    from = pattern.begins.lastIndex
  }
  const end = shape ? findOpening(shape, text, from) : text.length
  return { at: end, told: '', end, inside: false }
}

function findOpening(shape: StreamPattern, text: string, from: number): number {
  shape.opening.lastIndex = Math.max(from, text.length - shape.longest)
  return shape.opening.exec(text)?.index ?? text.length
}

function holdFrom(text: string, at: number, inside: boolean): PatternState {
  return { context: text.slice(Math.max(0, at - CONTEXT_LENGTH), at), held: text.slice(at), inside }
}

function matchAt(sticky: RegExp, text: string, at: number): RegExpExecArray | null {
  sticky.lastIndex = at
  return sticky.exec(text)
}

function matchesAt(sticky: RegExp, text: string, at: number): boolean {
  return matchAt(sticky, text, at) !== null
}

/** The end of a match that always exists but may be empty. */
function findEnd(sticky: RegExp, text: string, at: number): number {
  return matchAt(sticky, text, at) ? sticky.lastIndex : at
}
