// What is wrong with a run before it begins, as issues: the etag, the graph, the inputs. Bounded, however much is wrong.
import type { PreflightIssue } from '../../generated/types.ts'
import type { Problem } from '../errors.ts'
import { pointer } from '../problems.ts'
import { cut } from '../short.ts'
import { forEachStep, type Steps } from '../time-slices.ts'
import { inputProblems, unknownInputs } from '../workflows/params.ts'
import type { CompiledGraph } from '../workflows/plans.ts'
import { shortId } from './preflight-names.ts'

/** So many issues are told; of the others only how many there are. */
const MOST_ISSUES = 1_000
/** So many names that no input has are looked at: each is told with all that there are. */
const MOST_UNKNOWN = 100
/** Characters. */
const LONGEST_MESSAGE = 2_000

export type Inputs = Readonly<Record<string, unknown>>

export function errorIssue(
  code: string,
  message: string,
  node_id: string | null = null,
  pin_name: string | null = null,
): PreflightIssue {
  return { severity: 'error', code, message, node_id, pin_name }
}

export function warningIssue(code: string, message: string, node_id: string | null = null): PreflightIssue {
  return { severity: 'warning', code, message, node_id, pin_name: null }
}

export function isError({ severity }: PreflightIssue): boolean {
  return severity === 'error'
}

/** An etag that the client has seen is the workflow's, or it looks at another workflow than it believes. */
export function etagIssues({ etag }: CompiledGraph, seen: string | null): PreflightIssue[] {
  if (seen === null || seen === etag) return []
  return [errorIssue('workflow_etag_mismatch', 'The workflow is another one than that of this etag. Read it again.')]
}

export function* addGraphIssues({ issues }: CompiledGraph, into: Issues): Steps<void> {
  yield* forEachStep(issues, (issue) => into.add({ ...issue, code: `graph_${issue.code}` }))
}

/** A graph that cannot run takes no inputs: then there is nothing to hold them against. */
export function* addInputIssues({ plan }: CompiledGraph, inputs: Inputs, into: Issues): Steps<void> {
  if (plan === null) return
  const names = new Set<string>()
  yield* forEachStep(plan.inputs, ({ name }) => names.add(name))
  const unknown: string[] = []
  yield* forEachStep(Object.keys(inputs), (name) => {
    if (!names.has(name)) unknown.push(name)
  })
  for (const [at, problem] of unknownInputs(plan, unknown.slice(0, MOST_UNKNOWN), '').entries())
    into.add(inputIssue(problem, null, unknown[at]!))
  yield* forEachStep(plan.inputs, (input) => {
    const { name, node_id } = input
    for (const problem of inputProblems(input, inputs, pointer('', name))) into.add(inputIssue(problem, node_id, name))
  })
  const left = unknown.length - MOST_UNKNOWN
  if (left > 0) into.add(errorIssue('unknown_input', `There are ${left} more inputs that the workflow does not have.`))
}

function inputIssue({ code, message }: Problem, node_id: string | null, name: string): PreflightIssue {
  return errorIssue(code ?? 'input_type_mismatch', message, node_id, name)
}

/** The issues of one preflight: each once, errors never left out for warnings, and no more than somebody reads. The others are counted. */
export class Issues {
  readonly #errors = new Map<string, PreflightIssue>()
  readonly #warnings = new Map<string, PreflightIssue>()
  #left = 0

  /** Whether no more errors are told: what is found from now on may be left without being put into words. */
  get full(): boolean {
    return this.#errors.size >= MOST_ISSUES
  }

  get hasErrors(): boolean {
    return this.#errors.size > 0
  }

  add(issue: PreflightIssue): void {
    const known = isError(issue) ? this.#errors : this.#warnings
    if (known.size >= MOST_ISSUES) return this.leave(1)
    const { severity, code, message, node_id, pin_name } = issue
    const short = {
      severity,
      code,
      message: cut(message, LONGEST_MESSAGE).toWellFormed(),
      node_id: node_id === null ? null : shortId(node_id),
      pin_name: pin_name === null ? null : shortId(pin_name),
    }
    known.set(JSON.stringify([code, short.node_id, short.pin_name, short.message]), short)
  }

  /** Whether an error of this node says so already. */
  tells(node_id: string, pin_name: string, message: string): boolean {
    const [id, pin] = [shortId(node_id), shortId(pin_name)]
    const said = cut(message, LONGEST_MESSAGE).toWellFormed()
    return [...this.#errors.values()].some((one) => one.node_id === id && one.pin_name === pin && one.message === said)
  }

  addAll(issues: Iterable<PreflightIssue>): void {
    for (const issue of issues) this.add(issue)
  }

  /** So many more were found and not told. */
  leave(count: number): void {
    this.#left += count
  }

  told(): PreflightIssue[] {
    const all = [...this.#errors.values(), ...this.#warnings.values()]
    const told = all.slice(0, MOST_ISSUES)
    const left = this.#left + all.length - told.length
    return left === 0 ? told : [...told, warningIssue('more_issues', `There are ${left} more issues.`)]
  }
}
