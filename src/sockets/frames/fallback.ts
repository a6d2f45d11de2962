// Frames without the values that nodes made, for those whose values no encoding can hold: what has happened is told all the same.
import type { JobFrame } from '../../events/types.ts'

const UNSENDABLE_MESSAGE = 'cannot be sent: it is too large or nested too deeply.'

type ValueStrippers = { readonly [Type in JobFrame['type']]?: (frame: Extract<JobFrame, { type: Type }>) => object }

const VALUE_STRIPPERS: ValueStrippers = {
  job_update: (frame) => ({ ...frame, ...('result' in frame ? { result: { outputs: {} } } : {}) }),
  node_update: (frame) => ({ ...frame, result: null }),
  output_update: ({ job_id, workflow_id, node_id, output_name }) => {
    const content = `A value of the output "${output_name}" ${UNSENDABLE_MESSAGE}`
    return { type: 'log_update', job_id, workflow_id, node_id, content, severity: 'error' }
  },
}

/** The frame without values, or null where it has none. */
export function stripFrameValues(frame: object): object | null {
  const bare = VALUE_STRIPPERS[(frame as JobFrame).type as keyof ValueStrippers] as
    | ((frame: object) => object)
    | undefined
  return bare?.(frame) ?? null
}
