// A preflight as it is kept with its job and shown in snapshots: without secrets. Codes, statuses and ids of nodes are what they are.
import type { PreflightSummary } from '../../../generated/types.ts'
import type { Redactor } from '../../redaction/redactor.ts'

export function redactPreflight(summary: PreflightSummary, redactor: Redactor): PreflightSummary {
  const text = (one: string | null) => one && redactor.text(one)
  return {
    ...summary,
    issues: summary.issues.map((issue) => ({ ...issue, message: redactor.text(issue.message) })),
    requirements: summary.requirements.map(({ details, ...requirement }) => ({
      ...requirement,
      // Where it names a file it may come from the request.
      id: redactor.text(requirement.id),
      name: redactor.text(requirement.name),
      message: text(requirement.message),
      ...(details === undefined ? {} : { details: redactor.value(details) }),
    })),
  }
}
