// The language of math.Formula: numbers, names, operators and functions. `parseFormula` parses a formula once; the result is evaluated for
// any number of values.

import { suggestName } from '../../../engine/node-api/did-you-mean.ts'
import { NodeError } from '../../../engine/node-api/node-error.ts'
import { memoizeByText } from '../memoize.ts'
import { abbreviate } from '../value-limits.ts'
import { FORMULA_FUNCTION_NAMES, FORMULA_FUNCTIONS } from './functions.ts'
import { formulaSyntaxError } from './syntax-errors.ts'

export type FormulaVariables = Readonly<Record<string, number>>
type Evaluator = (names: FormulaVariables) => number

export interface Formula {
  (names: FormulaVariables): number
  /** The steps of one evaluation: one for each number, name, sign and operator, and several for each function. */
  readonly steps: number
}

/** In steps of all evaluations of one firing: about a second. */
const MOST_STEPS = 50_000_000
const CALL_STEPS = 8
/** Rounding costs more, because it is decimal. */
const ROUNDING_STEPS = 40

const LONGEST_FORMULA = 10_000
const DEEPEST_NESTING = 100

const CONSTANTS: FormulaVariables = { pi: Math.PI, e: Math.E }

interface BinaryOperator {
  /** Operators with a higher level bind closer. */
  level: number
  of: (a: number, b: number) => number
}

const toNumber = (truth: boolean) => (truth ? 1 : 0)

const BINARY_OPERATORS: Readonly<Record<string, BinaryOperator>> = {
  '||': { level: 1, of: (a, b) => toNumber(a !== 0 || b !== 0) },
  '&&': { level: 2, of: (a, b) => toNumber(a !== 0 && b !== 0) },
  '==': { level: 3, of: (a, b) => toNumber(a === b) },
  '!=': { level: 3, of: (a, b) => toNumber(a !== b) },
  '<': { level: 4, of: (a, b) => toNumber(a < b) },
  '<=': { level: 4, of: (a, b) => toNumber(a <= b) },
  '>': { level: 4, of: (a, b) => toNumber(a > b) },
  '>=': { level: 4, of: (a, b) => toNumber(a >= b) },
  '+': { level: 5, of: (a, b) => a + b },
  '-': { level: 5, of: (a, b) => a - b },
  '*': { level: 6, of: (a, b) => a * b },
  '/': { level: 6, of: (a, b) => a / b },
  '%': { level: 6, of: (a, b) => a % b },
}

/** A power binds closer than a sign before it, and is right-associative: `-2^2` is −4, `2^3^2` is 512. */
const SIGN_LEVEL = 7

const TOKEN =
  /\s*(?:(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|(\|\||&&|==|!=|<=|>=|\*\*|[-+*/%^()<>!,]))/y

interface Token {
  kind: 'number' | 'name' | 'symbol' | 'end'
  text: string
  at: number
}

function tokenize(text: string): Token[] {
  const found: Token[] = []
  let at = 0
  // Computed once, because a formula may end with as many spaces as it has tokens.
  const end = text.trimEnd().length
  while (at < end) {
    TOKEN.lastIndex = at
    const match = TOKEN.exec(text)
    if (!match) throw formulaSyntaxError(text, at + (text.slice(at).length - text.slice(at).trimStart().length))
    const [all, number, name, symbol] = match
    const word = number ?? name ?? symbol!
    const kind = number !== undefined ? 'number' : name !== undefined ? 'name' : 'symbol'
    found.push({ kind, text: word === '**' ? '^' : word, at: at + all.length - word.length })
    at += all.length
  }
  found.push({ kind: 'end', text: '', at: text.length })
  return found
}

class FormulaParser {
  readonly #text: string
  readonly #tokens: Token[]
  #at = 0
  #depth = 0
  #steps = 0

  constructor(text: string) {
    this.#text = text
    this.#tokens = tokenize(text)
  }

  parseWhole(): Formula {
    const evaluate = this.#binary(1)
    if (this.#peek().kind !== 'end') throw formulaSyntaxError(this.#text, this.#peek().at)
    return Object.assign((names: FormulaVariables) => evaluate(names), { steps: this.#steps })
  }

  #peek(): Token {
    return this.#tokens[this.#at]!
  }

  #take(symbol: string): boolean {
    const token = this.#peek()
    if (token.kind !== 'symbol' || token.text !== symbol) return false
    this.#at++
    return true
  }

  #expect(symbol: string): void {
    if (!this.#take(symbol)) throw formulaSyntaxError(this.#text, this.#peek().at)
  }

  #binary(least: number): Evaluator {
    if (++this.#depth > DEEPEST_NESTING) throw new NodeError('The formula is nested too deep.', 'bad_formula')
    let left = this.#unary()
    for (let operator = this.#operator(least); operator; operator = this.#operator(least)) {
      this.#steps++
      left = evaluateBoth(operator.of, left, this.#binary(operator.level + 1))
    }
    this.#depth--
    return left
  }

  #operator(least: number): BinaryOperator | null {
    const token = this.#peek()
    const operator =
      token.kind === 'symbol' && Object.hasOwn(BINARY_OPERATORS, token.text) ? BINARY_OPERATORS[token.text]! : null
    if (!operator || operator.level < least) return null
    this.#at++
    return operator
  }

  #unary(): Evaluator {
    this.#steps++
    if (this.#take('-')) return evaluateNegated(this.#binary(SIGN_LEVEL))
    if (this.#take('+')) return this.#binary(SIGN_LEVEL)
    if (this.#take('!')) return evaluateNot(this.#binary(SIGN_LEVEL))
    const base = this.#primary()
    return this.#take('^') ? evaluateBoth((a, b) => a ** b, base, this.#binary(SIGN_LEVEL)) : base
  }

  #primary(): Evaluator {
    const token = this.#peek()
    if (this.#take('(')) {
      const inner = this.#binary(1)
      this.#expect(')')
      return inner
    }
    this.#at++
    if (token.kind === 'number') {
      const value = Number(token.text)
      return () => value
    }
    if (token.kind !== 'name') throw formulaSyntaxError(this.#text, token.at)
    return this.#take('(') ? this.#call(token) : evaluateName(token.text)
  }

  #call(token: Token): Evaluator {
    const callable = Object.hasOwn(FORMULA_FUNCTIONS, token.text) ? FORMULA_FUNCTIONS[token.text]! : null
    if (!callable) {
      const advice =
        suggestName(token.text, Object.keys(FORMULA_FUNCTIONS)) || ` The functions are ${FORMULA_FUNCTION_NAMES}.`
      throw new NodeError(
        `The formula calls "${abbreviate(token.text)}", which is not a function.${advice}`,
        'bad_formula',
      )
    }
    const values: Evaluator[] = []
    if (!this.#take(')')) {
      do values.push(this.#binary(1))
      while (this.#take(','))
      this.#expect(')')
    }
    if (values.length < callable.least || values.length > callable.most) {
      const count = callable.least === callable.most ? callable.least : `${callable.least} to ${callable.most}`
      throw new NodeError(`Function "${token.text}" takes ${count} values, not ${values.length}.`, 'bad_formula')
    }
    this.#steps += callable === FORMULA_FUNCTIONS.round ? ROUNDING_STEPS : CALL_STEPS
    return (names) => callable.of(...values.map((value) => value(names)))
  }
}

function evaluateBoth(of: BinaryOperator['of'], left: Evaluator, right: Evaluator): Evaluator {
  return (names) => of(left(names), right(names))
}

function evaluateNegated(inner: Evaluator): Evaluator {
  return (names) => -inner(names)
}

function evaluateNot(inner: Evaluator): Evaluator {
  return (names) => toNumber(inner(names) === 0)
}

function evaluateName(text: string): Evaluator {
  return (names) => {
    if (Object.hasOwn(names, text)) return names[text]!
    if (Object.hasOwn(CONSTANTS, text)) return CONSTANTS[text]!
    const known = [...Object.keys(names), ...Object.keys(CONSTANTS)]
    throw new NodeError(
      `The formula uses "${abbreviate(text)}", which is not an input.${suggestName(text, known)}`,
      'unknown_name',
    )
  }
}

/** Parses a formula. Throws NodeError with the position of a syntax error. */
export const parseFormula = memoizeByText(parseUncached)

function parseUncached(text: string): Formula {
  if (text.trim() === '') throw new NodeError('The formula is empty.', 'bad_formula')
  if (text.length > LONGEST_FORMULA)
    throw new NodeError(`The formula is longer than ${LONGEST_FORMULA} characters.`, 'bad_formula')
  return new FormulaParser(text).parseWhole()
}

/** Throws NodeError `too_large` if so many evaluations of a formula cost too much. */
export function guardEvaluations(formula: Formula, times: number): void {
  if (formula.steps * times <= MOST_STEPS) return
  const text = `The formula takes ${formula.steps} steps, which is too many for ${times.toLocaleString('en')} values at once.`
  throw new NodeError(`${text} Shorten the formula, or split the values.`, 'too_large')
}
