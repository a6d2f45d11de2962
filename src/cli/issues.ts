// What is wrong with a workflow, as lines and as data.
import type { GraphIssue } from '../engine/graph.ts'
import type { Problem } from '../errors.ts'
import { counted, oneLine, type Paint } from './text.ts'

/** As a graph's issue, of anything that may be wrong with a file. `path` is a JSON pointer where the file's shape is wrong. */
export interface Issue {
  severity: 'error' | 'warning'
  code: string
  message: string
  node_id: string | null
  pin_name: string | null
  path?: string
}

/** `error greet.template: The message. (missing_property)` */
export function issueLine({ severity, code, message, node_id, pin_name, path }: Issue, paint: Paint): string {
  const pin = pin_name === null ? '' : `.${oneLine(pin_name)}`
  const place = path ?? (node_id === null ? '' : oneLine(node_id) + pin)
  const word = paint(severity === 'error' ? 'red' : 'yellow', severity)
  return `${word}${place === '' ? '' : ` ${paint('bold', oneLine(place))}`}: ${oneLine(message)} ${paint('dim', `(${code})`)}`
}

export function graphIssue({ severity, code, message, node_id, pin_name }: GraphIssue): Issue {
  return { severity, code, message, node_id, pin_name }
}

/** The shape of the file is wrong there. */
export function shapeIssue({ path, message, code }: Problem): Issue {
  return { severity: 'error', code: code ?? 'invalid', message, node_id: null, pin_name: null, path: path || '/' }
}

/** `2 errors, 1 warning`. */
export function issueTotal(issues: readonly Issue[]): string {
  const errors = issues.filter((issue) => issue.severity === 'error').length
  const warnings = issues.length - errors
  const parts = [errors > 0 ? counted(errors, 'error') : '', warnings > 0 ? counted(warnings, 'warning') : '']
  return parts.filter((part) => part !== '').join(', ')
}
