// The waveform of a sound: the lowest and the highest sample of each section, as numbers and as an image.
import type { MediaTaskResult } from '../../task-runner.ts'
import { writeImage } from '../image/codec.ts'
import { guardImageSize, imageFromPixels, parseColour } from '../image/task-helpers.ts'
import { createSampleReader } from './samples.ts'
import type { Sound } from './wav-reader.ts'

interface WaveformParams {
  readonly width: number
  readonly height: number
  readonly colour: string
  readonly background: string
}

/** The lowest and the highest sample over all channels. */
type Peak = readonly [number, number]

export async function drawWaveform(sound: Sound, params: Readonly<Record<string, unknown>>): Promise<MediaTaskResult> {
  const { width, height, ...colours } = params as unknown as WaveformParams
  guardImageSize(width, height)
  const peaks = computePeaks(sound, width)
  const [colour, background] = [await colourBytes(colours.colour), await colourBytes(colours.background)]
  const data = Buffer.alloc(width * height * 4, Uint8Array.from(background))
  for (const [x, [low, high]] of peaks.entries()) {
    const [top, bottom] = [pixelRow(high, height), pixelRow(low, height)]
    for (let y = top; y <= bottom; y++) data.set(colour, (y * width + x) * 4)
  }
  const image = await writeImage(imageFromPixels({ data, width, height }), { format: 'png', quality: null })
  return { files: image.files!, value: { ...(image.value as object), peaks, duration: sound.frames / sound.rate } }
}

async function colourBytes(text: string): Promise<number[]> {
  const { r, g, b, alpha } = await parseColour(text)
  return [r, g, b, Math.round(alpha * 255)]
}

/** Gives `count` peaks of sections of the same length. A section shorter than a frame uses the frame at its position. */
function computePeaks(sound: Sound, count: number): Peak[] {
  const { frames, channels } = sound
  const read = createSampleReader(sound)
  return Array.from({ length: count }, (_, at): Peak => {
    if (frames === 0) return [0, 0]
    const from = Math.floor((at * frames) / count)
    const to = Math.max(from + 1, Math.floor(((at + 1) * frames) / count))
    let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
    for (let sample = from * channels; sample < to * channels; sample++) {
      const value = read(sample)
      low = Math.min(low, value)
      high = Math.max(high, value)
    }
    return [low, high]
  })
}

/** The row of a sample: 1 is the first row, −1 the last. */
function pixelRow(sample: number, height: number): number {
  const level = Math.max(-1, Math.min(1, sample))
  return Math.round(((1 - level) / 2) * (height - 1))
}
