// Resamples sound: each new sample is a sum of its neighbours, weighted by a windowed sinc, which removes frequencies that the lower rate cannot represent.

/** Samples of a converted sound by frame and channel. */
export interface SampleSource {
  readonly frames: number
  readonly at: (frame: number, channel: number) => number
}

/** Zero crossings of the sinc on each side, and table steps between two crossings. */
const LOBES = 16
const STEPS = 512

/** The sinc with a Blackman window, from its middle to its end. */
const KERNEL = Float64Array.from({ length: LOBES * STEPS + 2 }, (_, at) => {
  const x = at / STEPS
  if (x === 0) return 1
  if (x >= LOBES) return 0
  const turn = (Math.PI * x) / LOBES
  return (Math.sin(Math.PI * x) / (Math.PI * x)) * (0.42 + 0.5 * Math.cos(turn) + 0.08 * Math.cos(2 * turn))
})

function kernelWeight(distance: number): number {
  const place = distance * STEPS
  const at = Math.floor(place)
  if (at >= LOBES * STEPS) return 0
  return KERNEL[at]! + (KERNEL[at + 1]! - KERNEL[at]!) * (place - at)
}

/** Keeps the duration of the sound. */
export function resample({ frames, at }: SampleSource, channels: number, from: number, to: number): SampleSource {
  const held = Array.from({ length: channels }, (_, channel) =>
    Float32Array.from({ length: frames }, (_one, frame) => at(frame, channel)),
  )
  // A lower rate needs a wider sinc.
  const scale = Math.min(1, to / from)
  const reach = LOBES / scale
  return {
    frames: Math.round((frames * to) / from),
    at(frame, channel) {
      const samples = held[channel]!
      const centre = (frame * from) / to
      const last = Math.min(frames - 1, Math.floor(centre + reach))
      let sum = 0
      let weights = 0
      for (let near = Math.max(0, Math.ceil(centre - reach)); near <= last; near++) {
        const share = kernelWeight(Math.abs(near - centre) * scale)
        sum += samples[near]! * share
        weights += share
      }
      // The weights are normalized, so that the level stays the same, also at the ends.
      return weights === 0 ? 0 : sum / weights
    },
  }
}
