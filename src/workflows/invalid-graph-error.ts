// Builds the error for a graph that cannot run.

import { type CompilationResult, isRunnable, type Plan } from '../engine/compile/compiler.ts'
import type { GraphIssue } from '../engine/compile/graph.ts'
import { moreProblemsSuffix, type Problem, ServiceError } from '../errors.ts'

/** Builds INVALID_WORKFLOW_GRAPH with every issue of severity `error`, each with the path of its node. */
export function invalidGraphError(issues: readonly GraphIssue[]): ServiceError {
  const problems = issues.filter((issue) => issue.severity === 'error').map(toProblem)
  return new ServiceError('INVALID_WORKFLOW_GRAPH', { problems, message: summarizeProblems(problems) })
}

/** Returns the plan for a new run. @throws INVALID_WORKFLOW_GRAPH */
export function requireRunnablePlan(compiled: CompilationResult): Plan {
  if (isRunnable(compiled)) return compiled.plan
  throw invalidGraphError(compiled.issues)
}

/** Returns the plan of a run that was accepted earlier, even if some expressions are invalid. @throws INVALID_WORKFLOW_GRAPH */
export function requireAcceptedPlan(compiled: CompilationResult): Plan {
  if (compiled.plan) return compiled.plan
  throw invalidGraphError(compiled.issues)
}

function toProblem({ code, message, node_id, pin_name }: GraphIssue): Problem {
  const node = node_id === null ? '' : `/nodes/${node_id}`
  const pin = pin_name === null ? '' : `/${pin_name}`
  return { path: `/graph${node}${pin}`, code, message }
}

/** Returns the first problem in full, and the number of further ones. */
export function summarizeProblems(problems: readonly Problem[]): string {
  return `${problems[0]?.message ?? 'The graph cannot run.'}${moreProblemsSuffix(problems)}`
}
