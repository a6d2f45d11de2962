// Redacts secrets in a preflight that is stored with its job and shown in snapshots. Codes, statuses and ids of nodes stay unchanged.
import type { PreflightSummary } from '../../../generated/types.ts'
import type { Redactor } from '../../redaction/redactor.ts'

export function redactPreflight(summary: PreflightSummary, redactor: Redactor): PreflightSummary {
  const text = (one: string | null) => one && redactor.text(one)
  return {
    ...summary,
    issues: summary.issues.map((issue) => ({ ...issue, message: redactor.text(issue.message) })),
    requirements: summary.requirements.map(({ details, ...requirement }) => ({
      ...requirement,
      // The id may name a file, and then come from the request.
      id: redactor.text(requirement.id),
      name: redactor.text(requirement.name),
      message: text(requirement.message),
      ...(details === undefined ? {} : { details: redactor.value(details) }),
    })),
  }
}
