// The functions of formulas, and what descriptions say of them.
import { round } from './values.ts'

export interface Callable {
  least: number
  most: number
  of: (...values: number[]) => number
}

function fixed(count: number, of: (...values: number[]) => number): Callable {
  return { least: count, most: count, of }
}

/** To the bases that are used most without the error of a division. */
function logarithm(value: number, base: number): number {
  if (base === 10) return Math.log10(value)
  return base === 2 ? Math.log2(value) : Math.log(value) / Math.log(base)
}

export const FUNCTIONS: Readonly<Record<string, Callable>> = {
  abs: fixed(1, Math.abs),
  sign: fixed(1, Math.sign),
  sqrt: fixed(1, Math.sqrt),
  cbrt: fixed(1, Math.cbrt),
  exp: fixed(1, Math.exp),
  ln: fixed(1, Math.log),
  log: { least: 1, most: 2, of: (value, base = 10) => logarithm(value!, base) },
  log2: fixed(1, Math.log2),
  log10: fixed(1, Math.log10),
  sin: fixed(1, Math.sin),
  cos: fixed(1, Math.cos),
  tan: fixed(1, Math.tan),
  asin: fixed(1, Math.asin),
  acos: fixed(1, Math.acos),
  atan: fixed(1, Math.atan),
  atan2: fixed(2, (y, x) => Math.atan2(y!, x!)),
  floor: fixed(1, Math.floor),
  ceil: fixed(1, Math.ceil),
  trunc: fixed(1, Math.trunc),
  round: { least: 1, most: 2, of: (value, digits = 0) => round(value!, Math.trunc(digits), 'nearest') },
  pow: fixed(2, (base, power) => base! ** power!),
  hypot: { least: 1, most: 100, of: Math.hypot },
  min: { least: 1, most: 100, of: Math.min },
  max: { least: 1, most: 100, of: Math.max },
  clamp: fixed(3, (value, low, high) => Math.min(Math.max(value!, low!), high!)),
  if: fixed(3, (condition, yes, no) => (condition ? yes! : no!)),
}

/** All functions by name, for descriptions and messages. */
export const FUNCTION_NAMES = Object.keys(FUNCTIONS).join(', ')

/** What a formula is made of, for the descriptions of nodes. */
export const FORMULA_LANGUAGE = `numbers only, no texts: + - * / % ^, comparisons (1 is true, 0 is false), && || !, pi, e, and the functions ${FUNCTION_NAMES}; log(x) is that to base 10, ln(x) the natural one, log(x, b) one to base b`
