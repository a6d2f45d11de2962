// As much of a preflight as is kept with its job. Every snapshot repeats it, so it is bounded; what is left out is counted, by issues of its own.
import type { PreflightIssue, PreflightSummary } from '../../../generated/types.ts'
import { createWarningIssue } from './issues.ts'

/** How many of each are kept at the most, and the bytes of JSON that they may have together. */
const ISSUES = { most: 100, bytes: 16 * 1024 }
const REQUIREMENTS = { most: 200, bytes: 40 * 1024 }
const UNKNOWN_COST_NODES = { most: 200, bytes: 8 * 1024 }

/** Errors before warnings, what blocks before what does not, and everything in the order in which it was. */
export function truncatePreflight(summary: PreflightSummary): PreflightSummary {
  const { cost } = summary
  const issues = selectFirst(summary.issues, ISSUES, ({ severity }) => severity === 'error')
  const requirements = selectFirst(summary.requirements, REQUIREMENTS, ({ blocking }) => blocking)
  const nodes = selectFirst(cost?.unknown_cost_nodes ?? [], UNKNOWN_COST_NODES, () => true)
  return {
    ...summary,
    issues: [
      ...issues.kept,
      ...omittedIssue('more_issues', issues.left, 'issues'),
      ...omittedIssue('more_requirements', requirements.left, 'requirements'),
      ...omittedIssue('more_unknown_cost_nodes', nodes.left, 'nodes whose cost is not known'),
    ],
    requirements: requirements.kept,
    cost: cost && { ...cost, unknown_cost_nodes: nodes.kept },
  }
}

function omittedIssue(code: string, count: number, what: string): PreflightIssue[] {
  return count === 0 ? [] : [createWarningIssue(code, `The preflight named ${count} more ${what}.`)]
}

interface SizeBound {
  readonly most: number
  readonly bytes: number
}

/** The ones that matter most, as many as there may be. One that is too large for what is left of the bytes makes room for smaller ones. */
function selectFirst<T>(items: readonly T[], { most, bytes }: SizeBound, matters: (item: T) => boolean) {
  const chosen = new Set<T>()
  let left = bytes
  for (const item of [...items.filter(matters), ...items.filter((one) => !matters(one))]) {
    if (chosen.size >= most) break
    const size = Buffer.byteLength(JSON.stringify(item))
    if (size > left) continue
    left -= size
    chosen.add(item)
  }
  const kept = items.filter((item) => chosen.has(item))
  return { kept, left: items.length - kept.length }
}
