// The form in which code is given to the engine that runs it, and whether it can be read at all. To read it runs nothing of it.
import { Script } from 'node:vm'

/** What the code is called in stacks. */
export const FILE = 'code.js'

/** Lines of the form before the first of the code. */
export const LINES_BEFORE = 1

/** Code as the body of a function, in the strict form of the language. */
export function wrapped(code: string): string {
  return `(async function* () {'use strict'\n${code}\n})`
}

/** What is longer, in characters, is read by the engine that runs it alone. */
const LONGEST = 65_536

/** What is wrong with the syntax of code, with its place; null where nothing is, or the code is too long or too deep to be read here. */
export function syntaxFault(code: string): string | null {
  if (code.length > LONGEST) return null
  try {
    new Script(wrapped(code), { filename: FILE })
    return null
  } catch (error) {
    return error instanceof SyntaxError ? `SyntaxError: ${error.message}${placeOf(error, code)}` : null
  }
}

/** ` (line 2, column 5)`: the stack begins with the number of the line, the line, and a sign below the place in it. */
function placeOf({ stack = '' }: SyntaxError, code: string): string {
  const [at = '', , below = ''] = stack.split('\n')
  const line = Number(at.slice(FILE.length + 1)) - LINES_BEFORE
  const lines = code.split('\n').length
  if (!Number.isInteger(line) || line < 1) return ''
  // What is left open is missed behind the end.
  return line > lines ? ` (at the end, line ${lines})` : ` (line ${line}, column ${below.indexOf('^') + 1})`
}
