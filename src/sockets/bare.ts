// Frames without the values that nodes made, for those whose values no encoding can hold: what has happened is told all the same.
import type { JobFrame } from '../events/types.ts'

const UNSHOWN = 'cannot be sent: it is too large or nested too deeply.'

type Bare = { readonly [Type in JobFrame['type']]?: (frame: Extract<JobFrame, { type: Type }>) => object }

const BARE: Bare = {
  job_update: (frame) => ({ ...frame, ...('result' in frame ? { result: { outputs: {} } } : {}) }),
  node_update: (frame) => ({ ...frame, result: null }),
  output_update: ({ job_id, workflow_id, node_id, output_name }) => {
    const content = `A value of the output "${output_name}" ${UNSHOWN}`
    return { type: 'log_update', job_id, workflow_id, node_id, content, severity: 'error' }
  },
}

/** The frame without values, or null where it has none. */
export function withoutValues(frame: object): object | null {
  const bare = BARE[(frame as JobFrame).type as keyof Bare] as ((frame: object) => object) | undefined
  return bare?.(frame) ?? null
}
