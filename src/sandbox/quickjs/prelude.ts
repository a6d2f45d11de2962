// The prelude, which runs inside of the engine before the user's code. Its functions are passed as source text, so they use only each
// other, and they are short, as each call parses them. They save the built-ins that they need first. Code that changes built-ins later can
// only spoil its own messages, since the worker validates all results.
import { LONGEST_JSON, MAX_SCRIPT_VALUES } from '../limits.ts'

export interface PreludeLimits {
  /** The limits of values and characters in one result. */
  readonly values: number
  readonly characters: number
}

/** Writes results of the code as JSON. If `give` returned null, `why` returns the reason. */
function makeGive(limits: PreludeLimits) {
  const { stringify } = JSON
  const { isArray } = Array
  const { getPrototypeOf } = Object
  const { plain, circular } = { plain: Object.prototype, circular: TypeError }
  const refused = [
    [Map, 'a Map; use Object.fromEntries(map)'],
    [Set, 'a Set; use [...set]'],
    [Promise, 'a Promise; await it first'],
    [RegExp, 'a RegExp; use its source'],
    [Error, 'an Error; use its message'],
    [ArrayBuffer, 'an ArrayBuffer; use a list of numbers'],
    [getPrototypeOf(Uint8Array), 'a typed array; use [...array]'],
  ] as const
  const kinds = refused.length
  let [count, length, problem] = [0, 0, '']

  function refuse(what: string): never {
    problem = what
    throw problem
  }
  function lookAtObject(name: string, value: object): void {
    const above = getPrototypeOf(value)
    if (above === plain || above === null || isArray(value)) return
    for (let at = 0; at < kinds; at++) {
      const [kind, advice] = refused[at]!
      if (value instanceof (kind as typeof Map)) refuse(`"${name}", which is ${advice}`)
    }
  }
  function look(name: string, value: unknown): unknown {
    const kind = typeof value
    length += name.length + 1
    if (kind === 'string') length += (value as string).length
    else if (kind === 'number') {
      if ((value as number) - (value as number) !== 0) refuse(`"${name}", which is ${value}, no finite number`)
    } else if (kind === 'object') {
      if (value !== null) lookAtObject(name, value as object)
    } else if (kind === 'bigint') refuse(`"${name}", which is a BigInt; use Number(value) or String(value)`)
    else if (kind === 'function' || kind === 'symbol') refuse(`"${name}", which is a ${kind} and no value`)
    if (++count > limits.values) refuse(`more than ${limits.values} values`)
    if (length > limits.characters) refuse(`more than ${limits.characters} characters`)
    return value
  }

  /** Throws errors of the code's getters. */
  function give(value: unknown): string | null {
    count = length = 0
    problem = ''
    if (value === undefined) return '{}'
    if (typeof value !== 'object' || value === null || isArray(value)) {
      const kind = value === null ? 'null' : isArray(value) ? 'a list' : `a ${typeof value}`
      problem = `${kind} instead of an object with values by output name, such as {output: 1}`
      return null
    }
    try {
      return stringify(value, look)
    } catch (error) {
      if (problem === '' && error instanceof circular && error.message === 'circular reference') {
        problem = 'a value that holds itself'
      }
      if (problem === '') throw error
      return null
    }
  }
  return { give, why: () => problem }
}

/** Sets up the globals; returns the functions that are called later. */
function prelude(
  limits: PreludeLimits,
  log: (severity: string, ...values: unknown[]) => void,
  loadRandom: () => () => number,
  inputs: string,
) {
  const { apply } = Reflect
  const { defineProperty, keys, getPrototypeOf } = Object
  const next: () => unknown = getPrototypeOf(async function* () {}).prototype.next
  const tools = { pull: (generator: object) => apply(next, generator, []), ...makeGive(limits) }
  const print =
    (severity: string) =>
    (...values: unknown[]): void =>
      log(severity, ...values)
  const info = print('info')
  const console = { debug: print('debug'), log: info, info, warn: print('warning'), error: print('error') }
  const set = (target: object, name: string, value: unknown) =>
    defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true })
  let random: (() => number) | undefined
  set(Math, 'random', () => {
    random ??= loadRandom()
    return random()
  })
  const given: Record<string, unknown> = JSON.parse(inputs)
  const kept = ['__proto__', 'globalThis', 'undefined', 'NaN', 'Infinity']
  // Set last, as an input may shadow a global of the same name.
  for (const name of keys(given)) if (!kept.includes(name)) set(globalThis, name, given[name])
  set(globalThis, 'inputs', given)
  set(globalThis, 'console', console)
  return tools
}

const limits: PreludeLimits = { values: MAX_SCRIPT_VALUES, characters: LONGEST_JSON }

/** The source of functions without comments and indentation, as the engine parses it for each call. */
function toSource(...functions: readonly ((...values: never[]) => unknown)[]): string {
  const lines = functions.flatMap((one) =>
    one
      .toString()
      .split('\n')
      .map((line) => line.trim()),
  )
  return lines.filter((line) => !line.startsWith('//') && !line.startsWith('/**')).join('\n')
}

/** An expression: a function of `log`, `loadRandom` and the inputs' JSON that returns `pull`, `give` and `why`. */
export const PRELUDE_SOURCE = `(() => {'use strict'
${toSource(makeGive, prelude)}
return prelude.bind(undefined, ${JSON.stringify(limits)}) })()`
