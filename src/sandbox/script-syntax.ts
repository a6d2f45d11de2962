// The form in which code is given to the engine that runs it, and whether it can be read at all. To read it runs nothing of it.
import { Script } from 'node:vm'

/** What the code is called in stacks. */
export const SCRIPT_FILE_NAME = 'code.js'

/** Lines of the form before the first of the code. */
export const WRAPPER_LINES = 1

/** Line breaks of the language (ECMA-262, 12.3). */
export const LINE_BREAK = /\r\n|[\n\r\u2028\u2029]/

/** Code as the body of a function, in the strict form of the language. */
export function wrapScript(code: string, directive = "'use strict'"): string {
  return `(async function* () {${directive}\n${code}\n})`
}

/** What is longer, in characters, is read by the engine that runs it alone. */
const MAX_CHECKED_CHARACTERS = 65_536

/** In nanoseconds: of a character, and of a sign of regular expressions that is dear to read, as `\p{RGI_Emoji}` is, or a name that is looked for among all. */
const CHARACTER = 250
const DEAR = /\\[pk]/gi
const OF_DEAR = 2_000_000

/** About how many nanoseconds `syntaxFault` takes for code; infinite where it does not read that. */
export function costOfSyntax(code: string): number {
  if (code.length > MAX_CHECKED_CHARACTERS) return Number.POSITIVE_INFINITY
  return code.length * CHARACTER + (code.match(DEAR)?.length ?? 0) * OF_DEAR
}

/**
 * What is wrong with the syntax of code, with its place; null where nothing is, or the code is too long or too deep to be read here. The engine that runs
 * it takes some code that is not quite right: where there is any doubt it has the last word.
 */
export function findSyntaxError(code: string): string | null {
  if (code.length > MAX_CHECKED_CHARACTERS) return null
  const error = parseScript(wrapScript(code))
  // The engine overlooks the directive before some code, and reads that in the loose form of the language.
  if (error === null || ACCEPTED_BY_ENGINE.test(error.message) || parseScript(wrapScript(code, '')) === null)
    return null
  return `SyntaxError: ${error.message}${describeErrorPosition(error, code)}`
}

/** What this parser says of code that the engine takes. */
const ACCEPTED_BY_ENGINE = /eval or arguments|private fields/i

function parseScript(text: string): SyntaxError | null {
  try {
    new Script(text, { filename: SCRIPT_FILE_NAME })
    return null
  } catch (error) {
    return error instanceof SyntaxError ? error : null
  }
}

/** ` (line 2, column 5)`: the stack begins with the number of the line, the line, and a sign below the place in it. */
function describeErrorPosition({ stack = '' }: SyntaxError, code: string): string {
  const [at = '', , below = ''] = stack.split('\n')
  const line = Number(at.slice(SCRIPT_FILE_NAME.length + 1)) - WRAPPER_LINES
  const lines = code.split(LINE_BREAK).length
  if (!Number.isInteger(line) || line < 1) return ''
  // What is left open is missed behind the end.
  return line > lines ? ` (at the end, line ${lines})` : ` (line ${line}, column ${below.indexOf('^') + 1})`
}
