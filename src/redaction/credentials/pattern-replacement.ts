// Replaces what has a certain shape in a text: as a whole, or piece by piece with the same result. Of a text that goes on only so much is held back
// as decides whether there is something to replace; once that is known the mark is told, and what else belongs to it is dropped as it comes.
import type { Continuation } from '../streams/secret-replacer.ts'

/** What is replaced. All patterns but `begins` are sticky. */
export interface TextPattern {
  /** Its first word, anywhere (`g`). It looks back at CONTEXT characters at most. */
  readonly begins: RegExp
  /** From there on, so much of it as tells what it is. Its end is followed by `rest`, and that by `close`; both may be empty. */
  readonly whole: RegExp
  readonly rest: RegExp
  readonly close: RegExp
  /** What is told instead; null: it is none. `before`: the character before it. */
  told(found: RegExpExecArray, before: string): string | null
}

/** A pattern that is found in a text that comes in pieces as well. Patterns that end with `$` match at the end of what has come. */
export interface StreamPattern extends TextPattern {
  /** The end of a text that may be the beginning of the first word (`g`), of at most `longest` characters. */
  readonly opening: RegExp
  readonly longest: number
  /** From the first word to the end of a text: more of it may make it something else. It matches so many characters at most as a constant says. */
  readonly unsure: RegExp
  /** From the first word to its value, of which there is something. */
  readonly begun: RegExp
  /** What is told instead of a value that is cut. */
  readonly mark: string
  /** Whether nothing that follows changes that this is replaced. */
  certain(found: RegExpExecArray): boolean
  /** From the end of `rest` to the end of a text: what follows decides whether it belongs to it. */
  readonly open: RegExp
}

/** So much of what was decided before is looked at again, since it says where a word begins. */
const CONTEXT_LENGTH = 2

/** What is known between two pieces. */
export interface PatternState {
  /** The last characters that are decided, as they came. */
  readonly context: string
  readonly held: string
  /** Whether what is held goes on with what is replaced. */
  readonly inside: boolean
}

export const INITIAL_PATTERN_STATE: PatternState = { context: '', held: '', inside: false }

export interface PieceReplacement {
  readonly told: string
  readonly after: PatternState
}

/** The text with all of a shape replaced. */
export function replacePattern(pattern: TextPattern, text: string): string {
  return replaceFrom(pattern, null, INITIAL_PATTERN_STATE, text).told
}

/** Takes in the next piece of a text. What is told of all pieces, joined, is what `replaced` makes of the whole. */
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

/** What is told of what is held where the rest is missing. */
function replaceCut(shape: StreamPattern, { context, held, inside }: PatternState): string {
  const begun = inside ? null : matchAt(shape.begun, context + held, context.length)
  if (begun) return `${begun[0]}${shape.mark}`
  return replaceFrom(shape, null, { context, held, inside }, '').told
}

/** `shape`: where the text may go on. */
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
  /** Up to here the text stays as it is. */
  readonly at: number
  readonly told: string
  /** Up to here it is decided. */
  readonly end: number
  readonly inside: boolean
}

/** The next one that is replaced, or that may turn out to be. */
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

/** Where a match ends that is never missing, but may be empty. */
function findEnd(sticky: RegExp, text: string, at: number): number {
  return matchAt(sticky, text, at) ? sticky.lastIndex : at
}
