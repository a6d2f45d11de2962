// Runs inside of the engine, handed over as source text: how values look in lines of the console and in errors.
// It uses nothing from around itself, and takes hold of what it needs before any code can change it.
import type { PreludeLimits } from './inside-give.ts'

/** Shows values as a line of the console does: text as it is, others much as they are written in code. */
export function makeShow() {
  const { stringify } = JSON
  const { isArray } = Array
  const { keys } = Object
  const { apply } = Reflect
  const [cut, ErrorOf, DateOf, toIso] = [String.prototype.slice, Error, Date, Date.prototype.toISOString]
  const DEEPEST = 5
  let room = 0

  const first = (value: string, length: number): string => apply(cut, value, [0, length])

  function writeInside(value: object, depth: number): string {
    const names = isArray(value) ? null : keys(value)
    const size = names ? names.length : (value as unknown[]).length
    let [text, at] = ['', 0]
    for (; at < size && room > 0; at++) {
      const name = names ? names[at]! : at
      room -= 2
      if (at > 0) text += ', '
      if (names) text += `${first(name as string, room)}: `
      text += write(value[name as keyof typeof value], depth + 1)
    }
    if (at < size) text += ', …'
    return names ? `{${text}}` : `[${text}]`
  }

  function writeLeaf(value: unknown, depth: number): string {
    if (typeof value === 'string') return depth === 0 ? first(value, room) : stringify(first(value, room))
    if (typeof value === 'function') return '[function]'
    if (typeof value === 'bigint') return `${value}n`
    if (value instanceof ErrorOf) return first(`${value.name}: ${value.message}`, room)
    if (value instanceof DateOf) return apply(toIso, value, [])
    return typeof value === 'symbol' ? '[symbol]' : `${value}`
  }

  function write(value: unknown, depth: number): string {
    const inside = typeof value === 'object' && value !== null
    if (inside && !(value instanceof ErrorOf) && !(value instanceof DateOf)) {
      return depth < DEEPEST ? writeInside(value, depth) : '…'
    }
    const text = writeLeaf(value, depth)
    room -= text.length
    return text
  }

  return function show(value: unknown, most: number): string {
    room = most
    return first(write(value, 0), most)
  }
}

/** Name, message and stack of what the code threw, as JSON. */
export function makeDescribe(limits: PreludeLimits, show: (value: unknown, most: number) => string) {
  const { stringify } = JSON
  const { apply } = Reflect
  const [cut, ErrorOf] = [String.prototype.slice, Error]
  const part = (read: () => unknown): string => {
    try {
      const text = read()
      return typeof text === 'string' ? apply(cut, text, [0, limits.error]) : ''
    } catch {
      return ''
    }
  }
  return function describe(thrown: unknown): string {
    if (!(thrown instanceof ErrorOf)) {
      const shown = part(() => show(thrown, limits.error)) || 'something that cannot be shown'
      return stringify(['', shown, ''])
    }
    return stringify([part(() => thrown.name), part(() => thrown.message), part(() => thrown.stack)])
  }
}
