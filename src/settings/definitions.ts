// Defines the settings of users: their names, their allowed values and their defaults.
import type { Setting } from '../../generated/types.ts'

export type SettingValue = Setting['value']

/** A setting without the value of a user. */
export type SettingDefinition = Omit<Setting, 'value'>

/** The options of a run whose request does not set them. */
export interface RunDefaults {
  readonly persistence: 'job' | 'session'
  readonly event_detail: 'full' | 'outputs' | 'terminal'
  readonly concurrent: boolean
  /** Null for no limit. */
  readonly timeout_seconds: number | null
}

/** The names of the settings with the defaults of runs. */
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

/** Returns all settings by name, in order. `job_timeout_seconds` is the operator's limit for all jobs, or null. */
export function listSettingDefinitions(job_timeout_seconds: number | null): ReadonlyMap<string, SettingDefinition> {
  const definitions: SettingDefinition[] = [
    {
      ...UNBOUNDED,
      name: RUN_SETTINGS.concurrent,
      title: 'Runs at the same time',
      description:
        'Whether a run over the socket starts while another run of the same workflow is active, unless its command says otherwise. Over HTTP it always does.',
      group: GROUP,
      type: 'boolean',
      default: true,
    },
    {
      ...UNBOUNDED,
      name: RUN_SETTINGS.event_detail,
      title: 'Events of a run',
      description:
        'Which events followers of a run receive on a socket, unless its request says otherwise: all (full), outputs without nodes and edges (outputs), or only its end (terminal). Errors are always sent.',
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
        'Whether runs appear in the list of jobs (job) or are found only by id (session), unless the request says otherwise. Both are stored equally safely.',
      group: GROUP,
      type: 'string',
      default: 'job',
      values: ['job', 'session'],
    },
    {
      ...UNBOUNDED,
      name: RUN_SETTINGS.timeout_seconds,
      title: 'Time limit of a run',
      description:
        'The number of seconds after which a run is stopped, unless its request says otherwise; null for no limit.',
      group: GROUP,
      type: 'integer',
      default: job_timeout_seconds,
      minimum: 1,
      maximum: job_timeout_seconds ?? LONGEST_TIMEOUT_SECONDS,
    },
  ]
  return new Map(definitions.map((definition) => [definition.name, definition]))
}

/** Returns why a setting does not accept a value, or null. */
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
