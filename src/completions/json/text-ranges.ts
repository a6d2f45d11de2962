// Finds the members of a JSON object as ranges of its text, so that one value can be replaced without changing any
// other byte. Large numbers, duplicate members and white space survive. Texts have one character for each byte
// (latin1).

/** The range of a value, without the white space around it. */
export interface JsonRange {
  readonly start: number
  readonly end: number
}

export interface JsonMember extends JsonRange {
  readonly key: string
}

/** A text that replaces the bytes from `start` to `end`. */
export interface TextEdit {
  readonly start: number
  readonly end: number
  readonly text: string
}

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** The members of the object that begins at `from`, in order; null if the text has no complete object there. */
export function findMembers(text: string, from = 0): JsonMember[] | null {
  const members: JsonMember[] = []
  let at = skipSpace(text, from)
  if (text[at] !== '{') return null
  at = skipSpace(text, at + 1)
  if (text[at] === '}') return members
  for (;;) {
    if (text[at] !== '"') return null
    const key_end = findStringEnd(text, at)
    const colon = skipSpace(text, key_end)
    if (key_end < 0 || text[colon] !== ':') return null
    const start = skipSpace(text, colon + 1)
    const end = findValueEnd(text, start)
    if (end <= start) return null
    members.push({ key: parseKey(text.slice(at, key_end)), start, end })
    at = skipSpace(text, end)
    if (text[at] === '}') return members
    if (text[at] !== ',') return null
    at = skipSpace(text, at + 1)
  }
}

/** The items of the list that begins at `from`, in order; null if the text has no complete list there. */
export function findItems(text: string, from = 0): JsonRange[] | null {
  const items: JsonRange[] = []
  let at = skipSpace(text, from)
  if (text[at] !== '[') return null
  at = skipSpace(text, at + 1)
  if (text[at] === ']') return items
  for (;;) {
    const end = findValueEnd(text, at)
    if (end <= at) return null
    items.push({ start: at, end })
    at = skipSpace(text, end)
    if (text[at] === ']') return items
    if (text[at] !== ',') return null
    at = skipSpace(text, at + 1)
  }
}

/** `edits` are in order and do not overlap. */
export function applyEdits(bytes: Uint8Array, edits: readonly TextEdit[]): Buffer {
  return Buffer.concat(applyEditsAsPieces(bytes, edits))
}

/** Does the same without joining the pieces. */
export function applyEditsAsPieces(bytes: Uint8Array, edits: readonly TextEdit[]): Uint8Array[] {
  const pieces: Uint8Array[] = []
  let at = 0
  for (const { start, end, text } of edits) {
    pieces.push(bytes.subarray(at, start), Buffer.from(text))
    at = end
  }
  pieces.push(bytes.subarray(at))
  return pieces
}

function parseKey(quoted: string): string {
  return quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1)
}

function skipSpace(text: string, from: number): number {
  let at = from
  while (isSpace(text.charCodeAt(at))) at++
  return at
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}

/** The position after the closing quote; -1 if the string does not end. */
function findStringEnd(text: string, from: number): number {
  let quote = text.indexOf('"', from + 1)
  while (quote > 0 && isEscaped(text, quote)) quote = text.indexOf('"', quote + 1)
  return quote < 0 ? -1 : quote + 1
}

function isEscaped(text: string, at: number): boolean {
  let before = at
  while (text.charCodeAt(before - 1) === BACKSLASH) before--
  return (at - before) % 2 === 1
}

/** The position after the value; -1 if the value does not end. */
function findValueEnd(text: string, from: number): number {
  const first = text[from]
  if (first === '"') return findStringEnd(text, from)
  if (first === '{' || first === '[') return findNestedEnd(text, from)
  let at = from
  while (at < text.length && !isSpace(text.charCodeAt(at)) && !',}]'.includes(text[at]!)) at++
  return at
}

function findNestedEnd(text: string, from: number): number {
  let depth = 0
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      at = findStringEnd(text, at) - 1
      if (at < 0) return -1
    } else if (code === 0x7b || code === 0x5b) depth++
    else if ((code === 0x7d || code === 0x5d) && --depth === 0) return at + 1
  }
  return -1
}
