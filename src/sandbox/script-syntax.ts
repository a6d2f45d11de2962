// Wraps code for the engine, and checks its syntax without running it.
import { Script } from 'node:vm'

/** The file name of the code in stacks. */
export const SCRIPT_FILE_NAME = 'code.js'

/** The number of lines of the wrapper before the code. */
export const WRAPPER_LINES = 1

/** The line breaks of the language (ECMA-262, 12.3). */
export const LINE_BREAK = /\r\n|[\n\r\u2028\u2029]/

/** Code as the body of a function, in strict mode. */
export function wrapScript(code: string, directive = "'use strict'"): string {
  return `(async function* () {${directive}\n${code}\n})`
}

/** In characters: longer code is checked only by the engine that runs it. */
const MAX_CHECKED_CHARACTERS = 65_536

/** Costs in nanoseconds: of a character, and of a construct that is slow to parse, such as `\p{RGI_Emoji}` or a named reference `\k`. */
const CHARACTER_NS = 250
const SLOW_CONSTRUCT = /\\[pk]/gi
const SLOW_CONSTRUCT_NS = 2_000_000

/** The approximate nanoseconds that `findSyntaxError` takes; infinite if it skips the code. */
export function costOfSyntax(code: string): number {
  if (code.length > MAX_CHECKED_CHARACTERS) return Number.POSITIVE_INFINITY
  return code.length * CHARACTER_NS + (code.match(SLOW_CONSTRUCT)?.length ?? 0) * SLOW_CONSTRUCT_NS
}

/**
 * The syntax error of code, with its position; null if there is none, or the code is too long or too deep to be checked here. The engine
 * accepts some code that is not quite valid: in doubt, the engine decides.
 */
export function findSyntaxError(code: string): string | null {
  if (code.length > MAX_CHECKED_CHARACTERS) return null
  const error = parseScript(wrapScript(code))
  // The engine overlooks the directive before some code, and then parses it in sloppy mode.
  if (error === null || ACCEPTED_BY_ENGINE.test(error.message) || parseScript(wrapScript(code, '')) === null)
    return null
  return `SyntaxError: ${error.message}${describeErrorPosition(error, code)}`
}

/** Errors of this parser for code that the engine accepts. */
const ACCEPTED_BY_ENGINE = /eval or arguments|private fields/i

function parseScript(text: string): SyntaxError | null {
  try {
    new Script(text, { filename: SCRIPT_FILE_NAME })
    return null
  } catch (error) {
    return error instanceof SyntaxError ? error : null
  }
}

/** ` (line 2, column 5)`: the stack begins with the line number, the line, and a caret below the position. */
function describeErrorPosition({ stack = '' }: SyntaxError, code: string): string {
  const [at = '', , below = ''] = stack.split('\n')
  const line = Number(at.slice(SCRIPT_FILE_NAME.length + 1)) - WRAPPER_LINES
  const lines = code.split(LINE_BREAK).length
  if (!Number.isInteger(line) || line < 1) return ''
  // An unclosed construct is reported behind the end.
  return line > lines ? ` (at the end, line ${lines})` : ` (line ${line}, column ${below.indexOf('^') + 1})`
}
