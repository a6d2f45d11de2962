// The functions of formulas, and their description for nodes.
import { roundDecimal } from '../value-operations.ts'

export interface FormulaFunction {
  least: number
  most: number
  of: (...values: number[]) => number
}

function fixedArity(count: number, of: (...values: number[]) => number): FormulaFunction {
  return { least: count, most: count, of }
}

/** The most common bases have exact functions, without the error of a division. */
function logarithm(value: number, base: number): number {
  if (base === 10) return Math.log10(value)
  return base === 2 ? Math.log2(value) : Math.log(value) / Math.log(base)
}

export const FORMULA_FUNCTIONS: Readonly<Record<string, FormulaFunction>> = {
  abs: fixedArity(1, Math.abs),
  sign: fixedArity(1, Math.sign),
  sqrt: fixedArity(1, Math.sqrt),
  cbrt: fixedArity(1, Math.cbrt),
  exp: fixedArity(1, Math.exp),
  ln: fixedArity(1, Math.log),
  log: { least: 1, most: 2, of: (value, base = 10) => logarithm(value!, base) },
  log2: fixedArity(1, Math.log2),
  log10: fixedArity(1, Math.log10),
  sin: fixedArity(1, Math.sin),
  cos: fixedArity(1, Math.cos),
  tan: fixedArity(1, Math.tan),
  asin: fixedArity(1, Math.asin),
  acos: fixedArity(1, Math.acos),
  atan: fixedArity(1, Math.atan),
  atan2: fixedArity(2, (y, x) => Math.atan2(y!, x!)),
  floor: fixedArity(1, Math.floor),
  ceil: fixedArity(1, Math.ceil),
  trunc: fixedArity(1, Math.trunc),
  round: { least: 1, most: 2, of: (value, digits = 0) => roundDecimal(value!, Math.trunc(digits), 'nearest') },
  pow: fixedArity(2, (base, power) => base! ** power!),
  hypot: { least: 1, most: 100, of: Math.hypot },
  min: { least: 1, most: 100, of: Math.min },
  max: { least: 1, most: 100, of: Math.max },
  clamp: fixedArity(3, (value, low, high) => Math.min(Math.max(value!, low!), high!)),
  if: fixedArity(3, (condition, yes, no) => (condition ? yes! : no!)),
}

/** The names of all functions, for descriptions and messages. */
export const FORMULA_FUNCTION_NAMES = Object.keys(FORMULA_FUNCTIONS).join(', ')

/** The language of formulas, for the descriptions of nodes. */
export const FORMULA_LANGUAGE = `numbers only, no texts: + - * / % ^, comparisons (1 is true, 0 is false), && || !, pi, e, and the functions ${FORMULA_FUNCTION_NAMES}; log(x) is the logarithm to base 10, ln(x) the natural logarithm, log(x, b) the logarithm to base b`
