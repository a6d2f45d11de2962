// The settings that users have: what each is called, which values it takes, and what it is where nobody has changed it.
import type { Setting } from '../../generated/types.ts'

export type SettingValue = Setting['value']

/** A setting without anybody's value. */
export type SettingDefinition = Omit<Setting, 'value'>

/** What a run is where its request does not say it. */
export interface RunDefaults {
  readonly persistence: 'job' | 'session'
  readonly event_detail: 'full' | 'outputs' | 'terminal'
  readonly concurrent: boolean
  /** Null for no limit. */
  readonly timeout_seconds: number | null
}

/** Where the defaults of runs are found. */
export const RUN_SETTINGS = {
  persistence: 'jobs.persistence',
  event_detail: 'jobs.event_detail',
  concurrent: 'jobs.concurrent',
  timeout_seconds: 'jobs.timeout_seconds',
} as const satisfies Record<keyof RunDefaults, string>

/** The longest time limit that a request may name. */
const LONGEST_TIMEOUT_SECONDS = 31_536_000

const GROUP = 'Runs'
const UNBOUNDED = { values: null, minimum: null, maximum: null }

/** All settings by name, in order. `job_timeout_seconds` is the operator's limit for all jobs, or null. */
export function listSettingDefinitions(job_timeout_seconds: number | null): ReadonlyMap<string, SettingDefinition> {
  const types: SettingDefinition[] = [
    {
      ...UNBOUNDED,
      name: RUN_SETTINGS.concurrent,
      title: 'Runs at the same time',
      description:
        'Whether a run of a workflow over the socket begins while another run of it goes on, where its command does not say so. Over HTTP it always does.',
      group: GROUP,
      type: 'boolean',
      default: true,
    },
    {
      ...UNBOUNDED,
      name: RUN_SETTINGS.event_detail,
      title: 'What is told of a run',
      description:
        'What sockets that follow a run get, where its request does not say it: everything (full), outputs without nodes and edges (outputs), or its end alone (terminal). Errors are always told.',
      group: GROUP,
      type: 'string',
      default: 'full',
      values: ['full', 'outputs', 'terminal'],
    },
    {
      ...UNBOUNDED,
      name: RUN_SETTINGS.persistence,
      title: 'Where runs are listed',
      description:
        'Whether runs are in the list of jobs (job) or found by their id alone (session), where the request does not say it. Both are stored as safely.',
      group: GROUP,
      type: 'string',
      default: 'job',
      values: ['job', 'session'],
    },
    {
      ...UNBOUNDED,
      name: RUN_SETTINGS.timeout_seconds,
      title: 'Time limit of a run',
      description: 'After how many seconds a run is ended, where its request does not say it; null for no limit.',
      group: GROUP,
      type: 'integer',
      default: job_timeout_seconds,
      minimum: 1,
      maximum: job_timeout_seconds ?? LONGEST_TIMEOUT_SECONDS,
    },
  ]
  return new Map(types.map((type) => [type.name, type]))
}

/** Why a setting does not take a value, or null. */
export function findSettingProblem(type: SettingDefinition, value: SettingValue): string | null {
  if (type.type === 'boolean' || type.type === 'string') {
    if (typeof value !== type.type) return `must be a ${type.type}`
  } else if (typeof value !== 'number' || (type.type === 'integer' && !Number.isInteger(value))) {
    return type.type === 'integer' ? 'must be a whole number' : 'must be a number'
  }
  const { values, minimum, maximum } = type
  if (values && !values.includes(value as string | number | boolean)) return `must be one of ${values.join(', ')}`
  if (minimum !== null && (value as number) < minimum) return `must be at least ${minimum}`
  if (maximum !== null && (value as number) > maximum) return `must be at most ${maximum}`
  return null
}
