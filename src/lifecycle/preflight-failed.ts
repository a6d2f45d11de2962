// The refusal of a submission whose preflight did not pass: everything that stands in its way, each with its place.
import type { PreflightIssue, PreflightSummary } from '../../generated/types.ts'
import { type Problem, ServiceError } from '../errors.ts'
import { pointer } from '../problems.ts'
import { summary as summaryOf } from '../workflows/invalid-graph.ts'
import { isMet } from './preflight-requirements.ts'

/** All others that name a node are about it: its own, and those of the workflow that it calls. */
const ABOUT_INPUTS: ReadonlySet<string> = new Set([
  'unknown_input',
  'missing_input',
  'input_type_mismatch',
  'input_below_minimum',
  'input_above_maximum',
])

/** PREFLIGHT_FAILED with every issue, errors first, and every requirement that is not met. `at` is the pointer of the request. */
export function preflightFailed({ issues, requirements }: PreflightSummary, at: string): ServiceError {
  const errors = issues.filter(({ severity }) => severity === 'error')
  const warnings = issues.filter(({ severity }) => severity !== 'error')
  const unmet = requirements
    .filter((requirement) => !isMet(requirement))
    .map(({ kind, id, name, status, message }) => ({
      path: pointer(pointer('/requirements', kind), id),
      code: `requirement_${status}`,
      message: message ?? `${name} is ${status}.`,
    }))
  const problemOf = (issue: PreflightIssue): Problem => ({
    path: placeOf(issue, at),
    code: issue.code,
    message: issue.message,
  })
  const problems = [...errors.map(problemOf), ...unmet, ...warnings.map(problemOf)]
  return new ServiceError('PREFLIGHT_FAILED', { problems, message: summaryOf(problems) })
}

/** Where an issue belongs: to a value of the request, to a node of the graph, to the place of execution, or to the run as a whole. */
function placeOf({ code, node_id, pin_name }: PreflightIssue, at: string): string {
  if (code === 'workflow_etag_mismatch') return `${at}/workflow_etag`
  if (code.startsWith('execution_')) return '/execution'
  if (code.startsWith('more_')) return at
  if (ABOUT_INPUTS.has(code)) return pin_name === null ? `${at}/inputs` : pointer(`${at}/inputs`, pin_name)
  const node = node_id === null ? '/graph' : pointer('/graph/nodes', node_id)
  return pin_name === null ? node : pointer(node, pin_name)
}
