// The little language of math.Formula: numbers, names, operators and functions; nothing else can be said in it.
// `formulaOf` reads it once; the result is evaluated for any number of values.
import { NodeError } from '../engine/node-type.ts'
import { hint } from '../engine/suggest.ts'
import { wrong } from './formula-errors.ts'
import { FUNCTION_NAMES, FUNCTIONS } from './formula-functions.ts'
import { shown } from './limits.ts'
import { memo } from './memo.ts'

export type Names = Readonly<Record<string, number>>
type Evaluate = (names: Names) => number

export interface Formula {
  (names: Names): number
  /** What evaluating it once costs: one for each number, name, sign and operator, some for each function. */
  readonly steps: number
}

/** In all evaluations of one firing: a second or so. */
const MOST_STEPS = 50_000_000
const CALL_STEPS = 8
/** Of rounding, which is done in decimal. */
const ROUNDING_STEPS = 40

const LONGEST = 10_000
const DEEPEST = 100

const CONSTANTS: Names = { pi: Math.PI, e: Math.E }

interface Binary {
  /** Operators with a higher one bind closer. */
  level: number
  of: (a: number, b: number) => number
}

const yes = (truth: boolean) => (truth ? 1 : 0)

const BINARY: Readonly<Record<string, Binary>> = {
  '||': { level: 1, of: (a, b) => yes(a !== 0 || b !== 0) },
  '&&': { level: 2, of: (a, b) => yes(a !== 0 && b !== 0) },
  '==': { level: 3, of: (a, b) => yes(a === b) },
  '!=': { level: 3, of: (a, b) => yes(a !== b) },
  '<': { level: 4, of: (a, b) => yes(a < b) },
  '<=': { level: 4, of: (a, b) => yes(a <= b) },
  '>': { level: 4, of: (a, b) => yes(a > b) },
  '>=': { level: 4, of: (a, b) => yes(a >= b) },
  '+': { level: 5, of: (a, b) => a + b },
  '-': { level: 5, of: (a, b) => a - b },
  '*': { level: 6, of: (a, b) => a * b },
  '/': { level: 6, of: (a, b) => a / b },
  '%': { level: 6, of: (a, b) => a % b },
}

/** A power binds closer than a sign before it, and is read from the right: `-2^2` is −4, `2^3^2` is 512. */
const SIGN_LEVEL = 7

const TOKEN =
  /\s*(?:(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z_]\w*)|(\|\||&&|==|!=|<=|>=|\*\*|[-+*/%^()<>!,]))/y

interface Token {
  kind: 'number' | 'name' | 'symbol' | 'end'
  text: string
  at: number
}

function tokens(text: string): Token[] {
  const found: Token[] = []
  let at = 0
  // Looked for once: there may be as many spaces at the end as tokens before them.
  const end = text.trimEnd().length
  while (at < end) {
    TOKEN.lastIndex = at
    const match = TOKEN.exec(text)
    if (!match) throw wrong(text, at + (text.slice(at).length - text.slice(at).trimStart().length))
    const [all, number, name, symbol] = match
    const word = number ?? name ?? symbol!
    const kind = number !== undefined ? 'number' : name !== undefined ? 'name' : 'symbol'
    found.push({ kind, text: word === '**' ? '^' : word, at: at + all.length - word.length })
    at += all.length
  }
  found.push({ kind: 'end', text: '', at: text.length })
  return found
}

class Parser {
  readonly #text: string
  readonly #tokens: Token[]
  #at = 0
  #depth = 0
  #steps = 0

  constructor(text: string) {
    this.#text = text
    this.#tokens = tokens(text)
  }

  whole(): Formula {
    const evaluate = this.#binary(1)
    if (this.#peek().kind !== 'end') throw wrong(this.#text, this.#peek().at)
    return Object.assign((names: Names) => evaluate(names), { steps: this.#steps })
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
    if (!this.#take(symbol)) throw wrong(this.#text, this.#peek().at)
  }

  #binary(least: number): Evaluate {
    if (++this.#depth > DEEPEST) throw new NodeError('The formula is nested too deep.', 'bad_formula')
    let left = this.#unary()
    for (let operator = this.#operator(least); operator; operator = this.#operator(least)) {
      this.#steps++
      left = both(operator.of, left, this.#binary(operator.level + 1))
    }
    this.#depth--
    return left
  }

  #operator(least: number): Binary | null {
    const token = this.#peek()
    const operator = token.kind === 'symbol' && Object.hasOwn(BINARY, token.text) ? BINARY[token.text]! : null
    if (!operator || operator.level < least) return null
    this.#at++
    return operator
  }

  #unary(): Evaluate {
    this.#steps++
    if (this.#take('-')) return negated(this.#binary(SIGN_LEVEL))
    if (this.#take('+')) return this.#binary(SIGN_LEVEL)
    if (this.#take('!')) return not(this.#binary(SIGN_LEVEL))
    const base = this.#primary()
    return this.#take('^') ? both((a, b) => a ** b, base, this.#binary(SIGN_LEVEL)) : base
  }

  #primary(): Evaluate {
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
    if (token.kind !== 'name') throw wrong(this.#text, token.at)
    return this.#take('(') ? this.#call(token) : name(token.text)
  }

  #call(token: Token): Evaluate {
    const callable = Object.hasOwn(FUNCTIONS, token.text) ? FUNCTIONS[token.text]! : null
    if (!callable) {
      const advice = hint(token.text, Object.keys(FUNCTIONS)) || ` There are ${FUNCTION_NAMES}.`
      throw new NodeError(`The formula calls "${shown(token.text)}", which is no function.${advice}`, 'bad_formula')
    }
    const values: Evaluate[] = []
    if (!this.#take(')')) {
      do values.push(this.#binary(1))
      while (this.#take(','))
      this.#expect(')')
    }
    if (values.length < callable.least || values.length > callable.most) {
      const count = callable.least === callable.most ? callable.least : `${callable.least} to ${callable.most}`
      throw new NodeError(`Function "${token.text}" takes ${count} values, not ${values.length}.`, 'bad_formula')
    }
    this.#steps += callable === FUNCTIONS.round ? ROUNDING_STEPS : CALL_STEPS
    return (names) => callable.of(...values.map((value) => value(names)))
  }
}

function both(of: Binary['of'], left: Evaluate, right: Evaluate): Evaluate {
  return (names) => of(left(names), right(names))
}

function negated(inner: Evaluate): Evaluate {
  return (names) => -inner(names)
}

function not(inner: Evaluate): Evaluate {
  return (names) => yes(inner(names) === 0)
}

function name(text: string): Evaluate {
  return (names) => {
    if (Object.hasOwn(names, text)) return names[text]!
    if (Object.hasOwn(CONSTANTS, text)) return CONSTANTS[text]!
    const known = [...Object.keys(names), ...Object.keys(CONSTANTS)]
    throw new NodeError(`The formula uses "${shown(text)}", which is no input.${hint(text, known)}`, 'unknown_name')
  }
}

/** Reads a formula. Throws NodeError with the position of what can't be read. */
export const formulaOf = memo(parse)

function parse(text: string): Formula {
  if (text.trim() === '') throw new NodeError('The formula is empty.', 'bad_formula')
  if (text.length > LONGEST) throw new NodeError(`The formula is longer than ${LONGEST} characters.`, 'bad_formula')
  return new Parser(text).whole()
}

/** Throws NodeError `too_large` where evaluating a formula so often costs too much. */
export function guardEvaluations(formula: Formula, times: number): void {
  if (formula.steps * times <= MOST_STEPS) return
  const text = `The formula takes ${formula.steps} steps, too many for ${times.toLocaleString('en')} values at once.`
  throw new NodeError(`${text} Make it shorter, or work on parts of them.`, 'too_large')
}
