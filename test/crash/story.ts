// Prints the history of one job, to explain a finding: its events, the calls at the witness, and the kills.
import type { Evidence } from './evidence.ts'

interface Moment {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly what: string
}

/** One line for each moment. The first line names the job. */
export function storyOf(evidence: Evidence): string[] {
  const moments = [...eventsOf(evidence), ...callsOf(evidence), ...killsOf(evidence)].sort((a, b) => a.at - b.at)
  const told = moments.map(({ at, what }) => `  ${new Date(at).toISOString()} ${what}`)
  return [`the job ${evidence.job_id} of the kind ${evidence.work?.kind ?? 'that nobody was told of'}:`, ...told]
}

function eventsOf({ log }: Evidence): Moment[] {
  return log.map((event) => {
    const words = ['status', 'node_id', 'output_name'].flatMap((name) => (event as Record<string, unknown>)[name] ?? [])
    return { at: Date.parse(event.timestamp), what: [`event ${event.sequence}: ${event.type}`, ...words].join(' ') }
  })
}

function callsOf({ calls }: Evidence): Moment[] {
  return calls.map(({ method, path, begun_at, ended_at }) => {
    const end = ended_at === null ? 'never answered' : `answered after ${ended_at - begun_at} ms`
    return { at: begun_at, what: `call ${method} ${path}, ${end}` }
  })
}

function killsOf({ kills }: Evidence): Moment[] {
  return kills.map(({ at, until, status }) => ({ at, what: `kill, seen after ${until - at} ms, it was ${status}` }))
}
