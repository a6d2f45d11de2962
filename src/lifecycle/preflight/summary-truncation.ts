// Truncates the preflight that is stored with a job, because every snapshot repeats it. Additional issues give the number of omitted items.
import type { PreflightIssue, PreflightSummary } from '../../../generated/types.ts'
import { createWarningIssue } from './issues.ts'

/** Limits for each kind of item: the number, and the bytes of JSON of all together. */
const ISSUES = { most: 100, bytes: 16 * 1024 }
const REQUIREMENTS = { most: 200, bytes: 40 * 1024 }
const UNKNOWN_COST_NODES = { most: 200, bytes: 8 * 1024 }

/** Keeps errors before warnings and blocking items before others. The order of the items stays. */
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

/** Selects the most important items that fit. After an item that is too large, smaller ones may still fit. */
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
