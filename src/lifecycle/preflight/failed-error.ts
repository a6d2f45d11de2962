// Builds the error for a submission whose preflight failed. It lists every problem with its place.
import type { PreflightIssue, PreflightSummary } from '../../../generated/types.ts'
import { type Problem, ServiceError } from '../../errors.ts'
import { appendToPointer } from '../../shared/validation-problems.ts'
import { summarizeProblems as summaryOf } from '../../workflows/invalid-graph-error.ts'
import { isRequirementMet } from './requirements.ts'

/** The issues about inputs of the run. All other issues with a node are about that node, including those of the workflow that it calls. */
const INPUT_ISSUE_CODES: ReadonlySet<string> = new Set([
  'unknown_input',
  'missing_input',
  'input_type_mismatch',
  'input_below_minimum',
  'input_above_maximum',
])

/** Builds PREFLIGHT_FAILED with every issue, errors first, and every unmet requirement. `at` is the JSON pointer of the request. */
export function preflightFailedError({ issues, requirements }: PreflightSummary, at: string): ServiceError {
  const errors = issues.filter(({ severity }) => severity === 'error')
  const warnings = issues.filter(({ severity }) => severity !== 'error')
  const unmet = requirements
    .filter((requirement) => !isRequirementMet(requirement))
    .map(({ kind, id, name, status, message }) => ({
      path: appendToPointer(appendToPointer('/requirements', kind), id),
      code: `requirement_${status}`,
      message: message ?? `${name} is ${status}.`,
    }))
  const problemOf = (issue: PreflightIssue): Problem => ({
    path: issuePathOf(issue, at),
    code: issue.code,
    message: issue.message,
  })
  const problems = [...errors.map(problemOf), ...unmet, ...warnings.map(problemOf)]
  return new ServiceError('PREFLIGHT_FAILED', { problems, message: summaryOf(problems) })
}

/** Returns the path of an issue: a value of the request, a node of the graph, the execution target, or the whole request. */
function issuePathOf({ code, node_id, pin_name }: PreflightIssue, at: string): string {
  if (code === 'workflow_etag_mismatch') return `${at}/workflow_etag`
  if (code.startsWith('execution_')) return '/execution'
  if (code.startsWith('more_')) return at
  if (INPUT_ISSUE_CODES.has(code)) return pin_name === null ? `${at}/inputs` : appendToPointer(`${at}/inputs`, pin_name)
  const node = node_id === null ? '/graph' : appendToPointer('/graph/nodes', node_id)
  return pin_name === null ? node : appendToPointer(node, pin_name)
}
