// What runs inside of the engine before the code of a user does. The functions are handed over as source text, so they use
// nothing but each other. Whatever the code does to globals and prototypes later can spoil its own messages at most,
// since the worker looks once more at all that comes out.
import { makeGive, type PreludeLimits } from './inside-give.ts'
import { makeDescribe, makeShow } from './inside-show.ts'

/** What `Math.random` becomes: xoshiro128** (Blackman and Vigna, 2018), its state filled by splitmix32. */
function makeRandom(seedLow: number, seedHigh: number) {
  const { imul } = Math
  let mix = seedLow ^ imul(seedHigh, 0x9e3779b1)
  function fill(): number {
    mix = (mix + 0x9e3779b9) | 0
    let bits = imul(mix ^ (mix >>> 16), 0x21f0aaad)
    bits = imul(bits ^ (bits >>> 15), 0x735a2d97)
    return bits ^ (bits >>> 15)
  }
  let [a, b, c, d] = [fill(), fill(), fill(), fill() | 1]
  function next(): number {
    const five = imul(b, 5)
    const result = imul((five << 7) | (five >>> 25), 9)
    const shifted = b << 9
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= shifted
    d = (d << 11) | (d >>> 21)
    return result >>> 0
  }
  return () => ((next() >>> 5) * 0x4000000 + (next() >>> 6)) / 0x20000000000000
}

/** Sets up the globals; gives what is called later: `pull`, `give`, `why` and `describe`. */
function prelude(
  log: (severity: string, content: string) => void,
  inputs: string,
  seedLow: number,
  seedHigh: number,
  limits: PreludeLimits,
) {
  const { apply } = Reflect
  const { defineProperty, keys, getPrototypeOf } = Object
  const next: () => unknown = getPrototypeOf(async function* () {}).prototype.next
  const [give, why] = makeGive(limits)
  const show = makeShow()
  const describe = makeDescribe(limits, show)
  const print =
    (severity: string) =>
    (...values: unknown[]): void => {
      let line = ''
      for (let at = 0; at < values.length && line.length < limits.line; at++) {
        line += (at > 0 ? ' ' : '') + show(values[at], limits.line - line.length)
      }
      log(severity, line)
    }
  const info = print('info')
  const console = { debug: print('debug'), log: info, info, warn: print('warning'), error: print('error') }
  const set = (target: object, name: string, value: unknown) =>
    defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true })
  set(Math, 'random', makeRandom(seedLow, seedHigh))
  const given: Record<string, unknown> = JSON.parse(inputs)
  const kept = ['__proto__', 'globalThis', 'undefined', 'NaN', 'Infinity']
  // Last of all: an input may have the name of a global, and stands before it then.
  for (const name of keys(given)) if (!kept.includes(name)) set(globalThis, name, given[name])
  set(globalThis, 'inputs', given)
  set(globalThis, 'console', console)
  return { pull: (generator: object) => apply(next, generator, []), give, why, describe }
}

/** An expression whose value is `prelude`. */
export const PRELUDE = `(() => {'use strict'
${[makeGive, makeShow, makeRandom, makeDescribe, prelude].join('\n')}
return prelude })()`
