// What is wrong with a run before it begins, as issues: the etag, the graph, the inputs. Bounded, however much is wrong.
import type { PreflightIssue } from '../../../generated/types.ts'
import type { Problem } from '../../errors.ts'
import { truncateText } from '../../shared/text-truncation.ts'
import { forEachSteps, type Steps } from '../../shared/time-slices.ts'
import { appendToPointer } from '../../shared/validation-problems.ts'
import { findInputProblems, findUnknownInputs } from '../../workflows/param-validation.ts'
import type { CompiledWorkflowGraph } from '../../workflows/plan-cache.ts'
import { shortenId } from './shortened-names.ts'

/** So many issues are told; of the others only how many there are. */
const MOST_ISSUES = 1_000
/** So many names that no input has are looked at: each is told with all that there are. */
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

/** An etag that the client has seen is the workflow's, or it looks at another workflow than it believes. */
export function findEtagIssues({ etag }: CompiledWorkflowGraph, seen: string | null): PreflightIssue[] {
  if (seen === null || seen === etag) return []
  return [
    createErrorIssue('workflow_etag_mismatch', 'The workflow is another one than that of this etag. Read it again.'),
  ]
}

export function* addGraphIssues({ issues }: CompiledWorkflowGraph, into: IssueCollector): Steps<void> {
  yield* forEachSteps(issues, (issue) => into.add({ ...issue, code: `graph_${issue.code}` }))
}

/** A graph that cannot run takes no inputs: then there is nothing to hold them against. */
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
  const left = unknown.length - MOST_UNKNOWN
  if (left > 0)
    into.add(createErrorIssue('unknown_input', `There are ${left} more inputs that the workflow does not have.`))
}

function createInputIssue({ code, message }: Problem, node_id: string | null, name: string): PreflightIssue {
  return createErrorIssue(code ?? 'input_type_mismatch', message, node_id, name)
}

/** The issues of one preflight: each once, errors never left out for warnings, and no more than somebody reads. The others are counted. */
export class IssueCollector {
  readonly #errors = new Map<string, PreflightIssue>()
  readonly #warnings = new Map<string, PreflightIssue>()
  #omitted = 0

  /** Whether no more errors are told: what is found from now on may be left without being put into words. */
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

  /** Whether an error of this node says so already. */
  hasError(node_id: string, pin_name: string, message: string): boolean {
    const [id, pin] = [shortenId(node_id), shortenId(pin_name)]
    const said = truncateText(message, LONGEST_MESSAGE).toWellFormed()
    return [...this.#errors.values()].some((one) => one.node_id === id && one.pin_name === pin && one.message === said)
  }

  addAll(issues: Iterable<PreflightIssue>): void {
    for (const issue of issues) this.add(issue)
  }

  /** So many more were found and not told. */
  countOmitted(count: number): void {
    this.#omitted += count
  }

  list(): PreflightIssue[] {
    const all = [...this.#errors.values(), ...this.#warnings.values()]
    const told = all.slice(0, MOST_ISSUES)
    const left = this.#omitted + all.length - told.length
    return left === 0 ? told : [...told, createWarningIssue('more_issues', `There are ${left} more issues.`)]
  }
}
