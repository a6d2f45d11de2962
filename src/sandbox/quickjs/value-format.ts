// Formats values for console lines and errors. Runs inside of the engine and is passed as source text on first use, so it refers to nothing
// outside.

/** Formats text as it is and other values much like source code, in at most `most` characters. */
function makeShow() {
  const { stringify } = JSON
  const { isArray } = Array
  const { keys } = Object
  const DEEPEST = 5
  let room = 0

  function writeInside(value: object, depth: number): string {
    const names = isArray(value) ? null : keys(value)
    const size = names ? names.length : (value as unknown[]).length
    let [text, at] = ['', 0]
    for (; at < size && room > 0; at++) {
      const name = names ? names[at]! : at
      room -= 2
      if (at > 0) text += ', '
      if (names) text += `${(name as string).slice(0, room)}: `
      text += write(value[name as keyof typeof value], depth + 1)
    }
    if (at < size) text += ', …'
    return names ? `{${text}}` : `[${text}]`
  }

  function writeLeaf(value: unknown, depth: number): string {
    if (typeof value === 'string') return depth === 0 ? value.slice(0, room) : stringify(value.slice(0, room))
    if (typeof value === 'function') return '[function]'
    if (typeof value === 'bigint') return `${value}n`
    if (value instanceof Error) return `${value.name}: ${value.message}`.slice(0, room)
    if (value instanceof Date) return value.toISOString()
    return typeof value === 'symbol' ? '[symbol]' : `${value}`
  }

  function write(value: unknown, depth: number): string {
    const inside = typeof value === 'object' && value !== null
    if (inside && !(value instanceof Error) && !(value instanceof Date)) {
      return depth < DEEPEST ? writeInside(value, depth) : '…'
    }
    const text = writeLeaf(value, depth)
    room -= text.length
    return text
  }

  return function show(value: unknown, most: number): string {
    room = most
    return write(value, 0).slice(0, most)
  }
}

/** An expression whose value is `show`. */
export const VALUE_FORMAT_SOURCE = `(${makeShow})()`
