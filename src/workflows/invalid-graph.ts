// The refusal of a graph that cannot run.
import type { GraphIssue } from '../engine/graph.ts'
import { type Compiled, isRunnable, type Plan } from '../engine/plan.ts'
import { andMore, type Problem, ServiceError } from '../errors.ts'

/** INVALID_WORKFLOW_GRAPH with every issue of severity `error`, each with the path of its node. */
export function invalidGraph(issues: readonly GraphIssue[]): ServiceError {
  const problems = issues.filter((issue) => issue.severity === 'error').map(problemOf)
  return new ServiceError('INVALID_WORKFLOW_GRAPH', { problems, message: summary(problems) })
}

/** The plan of a new run. @throws INVALID_WORKFLOW_GRAPH */
export function runnablePlan(compiled: Compiled): Plan {
  if (isRunnable(compiled)) return compiled.plan
  throw invalidGraph(compiled.issues)
}

/** The plan of a run that was accepted earlier, also with expressions that cannot be read. @throws INVALID_WORKFLOW_GRAPH */
export function acceptedPlan(compiled: Compiled): Plan {
  if (compiled.plan) return compiled.plan
  throw invalidGraph(compiled.issues)
}

function problemOf({ code, message, node_id, pin_name }: GraphIssue): Problem {
  const node = node_id === null ? '' : `/nodes/${node_id}`
  const pin = pin_name === null ? '' : `/${pin_name}`
  return { path: `/graph${node}${pin}`, code, message }
}

/** The first problem in full, and how many there are besides. */
export function summary(problems: readonly Problem[]): string {
  return `${problems[0]?.message ?? 'The graph cannot run.'}${andMore(problems)}`
}
