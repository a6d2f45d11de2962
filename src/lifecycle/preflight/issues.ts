// Turns problems of a run into issues before it begins: problems of the etag, the graph and the inputs. The number of issues is bounded.
import type { PreflightIssue } from '../../../generated/types.ts'
import type { Problem } from '../../errors.ts'
import { truncateText } from '../../shared/text-truncation.ts'
import { forEachSteps, type Steps } from '../../shared/time-slices.ts'
import { appendToPointer } from '../../shared/validation-problems.ts'
import { findInputProblems, findUnknownInputs } from '../../workflows/param-validation.ts'
import type { CompiledWorkflowGraph } from '../../workflows/plan-cache.ts'
import { shortenId } from './shortened-names.ts'

/** Number of issues that are listed; of the others only the number is given. */
const MOST_ISSUES = 1_000
/** Number of unknown input names that are reported, because each message lists the known inputs. */
const MOST_UNKNOWN = 100
/** Characters. */
const LONGEST_MESSAGE = 2_000

export type RunInputs = Readonly<Record<string, unknown>>

export function createErrorIssue(
  code: string,
  message: string,
  node_id: string | null = null,
  pin_name: string | null = null,
): PreflightIssue {
  return { severity: 'error', code, message, node_id, pin_name }
}

export function createWarningIssue(code: string, message: string, node_id: string | null = null): PreflightIssue {
  return { severity: 'warning', code, message, node_id, pin_name: null }
}

export function isErrorIssue({ severity }: PreflightIssue): boolean {
  return severity === 'error'
}

/** Checks that the etag which the client has seen is that of the workflow. */
export function findEtagIssues({ etag }: CompiledWorkflowGraph, seen: string | null): PreflightIssue[] {
  if (seen === null || seen === etag) return []
  return [createErrorIssue('workflow_etag_mismatch', 'The workflow does not have this etag any more. Read it again.')]
}

export function* addGraphIssues({ issues }: CompiledWorkflowGraph, into: IssueCollector): Steps<void> {
  yield* forEachSteps(issues, (issue) => into.add({ ...issue, code: `graph_${issue.code}` }))
}

/** A graph that cannot run has no plan, so its inputs are not checked. */
export function* addInputIssues({ plan }: CompiledWorkflowGraph, inputs: RunInputs, into: IssueCollector): Steps<void> {
  if (plan === null) return
  const names = new Set<string>()
  yield* forEachSteps(plan.inputs, ({ name }) => names.add(name))
  const unknown: string[] = []
  yield* forEachSteps(Object.keys(inputs), (name) => {
    if (!names.has(name)) unknown.push(name)
  })
  for (const [at, problem] of findUnknownInputs(plan, unknown.slice(0, MOST_UNKNOWN), '').entries())
    into.add(createInputIssue(problem, null, unknown[at]!))
  yield* forEachSteps(plan.inputs, (input) => {
    const { name, node_id } = input
    for (const problem of findInputProblems(input, inputs, appendToPointer('', name)))
      into.add(createInputIssue(problem, node_id, name))
  })
  const omitted = unknown.length - MOST_UNKNOWN
  if (omitted > 0)
    into.add(createErrorIssue('unknown_input', `There are ${omitted} more inputs that the workflow does not have.`))
}

function createInputIssue({ code, message }: Problem, node_id: string | null, name: string): PreflightIssue {
  return createErrorIssue(code ?? 'input_type_mismatch', message, node_id, name)
}

/** Collects the issues of one preflight, each once. Warnings never displace errors. Issues beyond the limit are only counted. */
export class IssueCollector {
  readonly #errors = new Map<string, PreflightIssue>()
  readonly #warnings = new Map<string, PreflightIssue>()
  #omitted = 0

  /** Whether no more errors are listed. Then further problems need no message. */
  get isFull(): boolean {
    return this.#errors.size >= MOST_ISSUES
  }

  get hasErrors(): boolean {
    return this.#errors.size > 0
  }

  add(issue: PreflightIssue): void {
    const known = isErrorIssue(issue) ? this.#errors : this.#warnings
    if (known.size >= MOST_ISSUES) return this.countOmitted(1)
    const { severity, code, message, node_id, pin_name } = issue
    const short = {
      severity,
      code,
      message: truncateText(message, LONGEST_MESSAGE).toWellFormed(),
      node_id: node_id === null ? null : shortenId(node_id),
      pin_name: pin_name === null ? null : shortenId(pin_name),
    }
    known.set(JSON.stringify([code, short.node_id, short.pin_name, short.message]), short)
  }

  /** Whether this error of the node is listed already. */
  hasError(node_id: string, pin_name: string, message: string): boolean {
    const [id, pin] = [shortenId(node_id), shortenId(pin_name)]
    const said = truncateText(message, LONGEST_MESSAGE).toWellFormed()
    return [...this.#errors.values()].some((one) => one.node_id === id && one.pin_name === pin && one.message === said)
  }

  addAll(issues: Iterable<PreflightIssue>): void {
    for (const issue of issues) this.add(issue)
  }

  /** Counts further issues that are not listed. */
  countOmitted(count: number): void {
    this.#omitted += count
  }

  list(): PreflightIssue[] {
    const all = [...this.#errors.values(), ...this.#warnings.values()]
    const listed = all.slice(0, MOST_ISSUES)
    const omitted = this.#omitted + all.length - listed.length
    return omitted === 0 ? listed : [...listed, createWarningIssue('more_issues', `There are ${omitted} more issues.`)]
  }
}
