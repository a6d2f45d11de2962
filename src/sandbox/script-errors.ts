// The errors of calls: their messages are built from what the engine threw, without paths or stacks of the server.
import { truncateText } from '../shared/text-truncation.ts'
import { LONGEST_ERROR } from './limits.ts'
import { LINE_BREAK, WRAPPER_LINES } from './script-syntax.ts'
import type { ScriptCallRequest, ScriptErrorType } from './worker-protocol.ts'

/** A value that the code threw. Without a stack it was no error, and `message` shows the value. */
export class ThrownValue {
  readonly name: string
  readonly message: string
  readonly stack: string
  constructor(name: string, message: string, stack: string) {
    this.name = name
    this.message = message
    this.stack = stack
  }
}

export class ScriptError extends Error {
  readonly type: ScriptErrorType
  /** Whether the engine may be damaged, so that its worker must not be reused. */
  readonly spent: boolean

  constructor(type: ScriptErrorType, message: string, spent: boolean) {
    super(truncateText(message, LONGEST_ERROR))
    this.type = type
    this.spent = spent
  }

  static timeout(time_limit_ms: number): ScriptError {
    const limit = time_limit_ms.toLocaleString('en')
    const advice = 'Make the work smaller, yield what is done so far, or raise time_limit_ms.'
    return new ScriptError('code_timeout', `The code ran longer than ${limit} ms. ${advice}`, true)
  }

  static memory(memory_limit_mb: number): ScriptError {
    const text = `The code needs more memory than ${memory_limit_mb} MB. Keep less at a time, or raise memory_limit_mb.`
    return new ScriptError('code_memory', text, true)
  }

  static stack(place = ''): ScriptError {
    return new ScriptError('code_stack', `The code calls itself, or nests values, too deep${place}. Use a loop.`, true)
  }
}

/**
 * Converts a position of the engine to one in the code as editors count. Both start at 1; the engine counts only line feeds, and columns in
 * code points.
 */
function toSourcePosition(code: string, line: number, column: number): { line: number; column: number } {
  const fed = code.split('\n')
  const before = [...(fed[line - 1] ?? '')].slice(0, column - 1).join('')
  const breaks = [...fed.slice(0, line - 1), before].join('\n').split(LINE_BREAK)
  return { line: breaks.length, column: [...breaks.at(-1)!].length + 1 }
}

/** ` (line 2, column 5)`: the position of the topmost frame of the code, or an empty text. The code can forge its stack. */
function describePosition({ name, stack }: ThrownValue, code: string): string {
  const found = /code\.js:(\d{1,9})(?::(\d{1,9}))?/.exec(stack)
  if (!found) return ''
  const last = code.split('\n').length
  const line = Math.max(1, Number(found[1]) - WRAPPER_LINES)
  // An unclosed construct is reported behind the end of the code.
  if (line === last + 1 && name === 'SyntaxError') return ` (at the end, line ${code.split(LINE_BREAK).length})`
  if (line > last) return ''
  const place = toSourcePosition(code, line, Number(found[2] ?? 1))
  return found[2] === undefined ? ` (line ${place.line})` : ` (line ${place.line}, column ${place.column})`
}

const HTTP_ALTERNATIVE = ' Send requests with the node http.Request.'

/** Alternatives for globals that other engines have. */
const ALTERNATIVES: Readonly<Record<string, string>> = {
  fetch: HTTP_ALTERNATIVE,
  XMLHttpRequest: HTTP_ALTERNATIVE,
  require: ' There are no modules here. Write what the code needs into it.',
  setTimeout: ' There are no timers here. Wait with the node control.Delay.',
}

/** Advice for an undefined name, or an empty text. */
function findAlternative({ name, message }: ThrownValue): string {
  const missing = name === 'ReferenceError' ? /^'(\w+)' is not defined$/.exec(message)?.[1] : undefined
  return missing !== undefined && Object.hasOwn(ALTERNATIVES, missing) ? ALTERNATIVES[missing]! : ''
}

/** The error of a call, for any thrown value. */
export function toScriptError(error: unknown, request: ScriptCallRequest): ScriptError {
  if (error instanceof ScriptError) return error
  if (!(error instanceof ThrownValue)) return createEngineError(error)
  const { name, message, stack } = error
  if (stack === '') return new ScriptError('code_error', `The code threw ${message || 'an empty text'}`, false)
  const place = describePosition(error, request.code)
  if (name === 'InternalError' && message === 'out of memory') return ScriptError.memory(request.memory_limit_mb)
  if (name === 'InternalError' && message === 'stack overflow') return ScriptError.stack(place)
  const text = message === '' ? name || 'Error' : `${name || 'Error'}: ${message}`
  const instead = findAlternative(error)
  const end = `${place}${instead === '' ? '' : `.${instead}`}`
  return new ScriptError('code_error', `${truncateText(text, LONGEST_ERROR - end.length - 1)}${end}`, false)
}

/** The engine itself failed. */
function createEngineError(error: unknown): ScriptError {
  if (error instanceof RangeError) return ScriptError.stack()
  return new ScriptError('code_error', 'The code crashed the engine that ran it.', true)
}
