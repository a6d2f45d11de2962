// Fallback frames without values, for values that cannot be encoded: clients still learn what has happened.
import type { JobFrame } from '../../events/types.ts'
import { JobFrames } from '../../jobs/history/job-frames.ts'

const UNSENDABLE_MESSAGE = 'cannot be sent: it is too large or nested too deeply.'

type ValueStrippers = { readonly [Type in JobFrame['type']]?: (frame: Extract<JobFrame, { type: Type }>) => object }

const VALUE_STRIPPERS: ValueStrippers = {
  job_update: (frame) => ({ ...frame, ...('result' in frame ? { result: { outputs: {} } } : {}) }),
  node_update: (frame) => ({ ...frame, result: null }),
  output_update: ({ job_id, workflow_id, node_id, output_name }) => {
    const content = `A value of the output "${output_name}" ${UNSENDABLE_MESSAGE}`
    return new JobFrames(job_id, workflow_id).logUpdate(node_id, content, 'error')
  },
}

/** The frame without values; null for a frame of another type. */
export function stripFrameValues(frame: object): object | null {
  const strip = VALUE_STRIPPERS[(frame as JobFrame).type as keyof ValueStrippers] as
    | ((frame: object) => object)
    | undefined
  return strip?.(frame) ?? null
}
