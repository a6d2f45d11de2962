// The issues of a workflow, as lines and as data.
import type { GraphIssue } from '../../engine/compile/graph.ts'
import type { Problem } from '../../errors.ts'
import { type PaintText, pluralize, toSingleLine } from '../shared/terminal-text.ts'

/** Like a graph issue, but for every fault of a file. `path` is a JSON pointer if the shape of the file is wrong. */
export interface WorkflowIssue {
  severity: 'error' | 'warning'
  code: string
  message: string
  node_id: string | null
  pin_name: string | null
  path?: string
}

/** `error greet.template: The message. (missing_property)` */
export function formatIssue(
  { severity, code, message, node_id, pin_name, path }: WorkflowIssue,
  paint: PaintText,
): string {
  const pin = pin_name === null ? '' : `.${toSingleLine(pin_name)}`
  const place = path ?? (node_id === null ? '' : toSingleLine(node_id) + pin)
  const word = paint(severity === 'error' ? 'red' : 'yellow', severity)
  return `${word}${place === '' ? '' : ` ${paint('bold', toSingleLine(place))}`}: ${toSingleLine(message)} ${paint('dim', `(${code})`)}`
}

export function issueFromGraph({ severity, code, message, node_id, pin_name }: GraphIssue): WorkflowIssue {
  return { severity, code, message, node_id, pin_name }
}

/** An issue about the shape of the file. */
export function issueFromProblem({ path, message, code }: Problem): WorkflowIssue {
  return { severity: 'error', code: code ?? 'invalid', message, node_id: null, pin_name: null, path: path || '/' }
}

/** `2 errors, 1 warning`. */
export function formatIssueTotal(issues: readonly WorkflowIssue[]): string {
  const errors = issues.filter((issue) => issue.severity === 'error').length
  const warnings = issues.length - errors
  const parts = [errors > 0 ? pluralize(errors, 'error') : '', warnings > 0 ? pluralize(warnings, 'warning') : '']
  return parts.filter((part) => part !== '').join(', ')
}
