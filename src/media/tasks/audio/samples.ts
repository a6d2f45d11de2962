// Reads and writes samples of any encoding as numbers from −1 to 1, and converts the rates and channels of sounds.
import { MediaFault } from '../../fault.ts'
import { resample, type SampleSource } from './resampling.ts'
import { BYTES_PER_SAMPLE, type SampleEncoding, type Sound, type SoundLayout, soundBytes } from './wav-reader.ts'

/** Reads the sample at an index over all channels. */
type SampleReader = (at: number) => number
type SampleWriter = (at: number, value: number) => void

const viewOf = (data: Uint8Array) => new DataView(data.buffer, data.byteOffset, data.byteLength)

/** NaN and infinite values become silence. */
const finiteOrSilence = (value: number) => (Number.isFinite(value) ? value : 0)

const READERS: Readonly<Record<SampleEncoding, (view: DataView) => SampleReader>> = {
  pcm8: (view) => (at) => (view.getUint8(at) - 128) / 128,
  pcm16: (view) => (at) => view.getInt16(at * 2, true) / 32_768,
  pcm24: (view) => (at) => ((view.getInt8(at * 3 + 2) << 16) | view.getUint16(at * 3, true)) / 8_388_608,
  pcm32: (view) => (at) => view.getInt32(at * 4, true) / 2_147_483_648,
  float32: (view) => (at) => finiteOrSilence(view.getFloat32(at * 4, true)),
  float64: (view) => (at) => finiteOrSilence(view.getFloat64(at * 8, true)),
}

/** Rounds to the nearest integer and clips. */
function quantize(value: number, scale: number): number {
  return Math.max(-scale, Math.min(scale - 1, Math.round(finiteOrSilence(value) * scale)))
}

const WRITERS: Readonly<Record<SampleEncoding, (view: DataView) => SampleWriter>> = {
  pcm8: (view) => (at, value) => view.setUint8(at, quantize(value, 128) + 128),
  pcm16: (view) => (at, value) => view.setInt16(at * 2, quantize(value, 32_768), true),
  pcm24: (view) => (at, value) => {
    const level = quantize(value, 8_388_608)
    view.setUint16(at * 3, level & 0xffff, true)
    view.setInt8(at * 3 + 2, level >> 16)
  },
  pcm32: (view) => (at, value) => view.setInt32(at * 4, quantize(value, 2_147_483_648), true),
  float32: (view) => (at, value) => view.setFloat32(at * 4, finiteOrSilence(value), true),
  float64: (view) => (at, value) => view.setFloat64(at * 8, finiteOrSilence(value), true),
}

export function createSampleReader({ encoding, data }: Sound): SampleReader {
  return READERS[encoding](viewOf(data))
}

/** Samples that one task can resample: memory holds them as floats. */
const MOST_RESAMPLED = 50_000_000

/** @throws MediaFault `too_large`; `bad_input` for an impossible conversion of channels */
export function convertSounds(
  sounds: readonly Sound[],
  { rate, channels }: Pick<SoundLayout, 'rate' | 'channels'>,
): SampleSource[] {
  const samples = sounds.reduce((sum, sound) => sum + (sound.rate === rate ? 0 : sound.frames * channels), 0)
  if (samples > MOST_RESAMPLED)
    throw new MediaFault('too_large', `More than ${MOST_RESAMPLED.toLocaleString('en')} samples would be resampled.`)
  return sounds.map((sound) => {
    const at = convertChannels(sound, channels)
    return sound.rate === rate
      ? { frames: sound.frames, at }
      : resample({ frames: sound.frames, at }, channels, sound.rate, rate)
  })
}

function convertChannels(sound: Sound, channels: number): SampleSource['at'] {
  const read = createSampleReader(sound)
  const sourceChannels = sound.channels
  if (sourceChannels === channels) return (frame, channel) => read(frame * sourceChannels + channel)
  if (sourceChannels === 1) return read
  if (channels !== 1)
    throw new MediaFault(
      'bad_input',
      `${sourceChannels} channels cannot be converted to ${channels}: one of the two numbers must be 1.`,
    )
  return (frame) => {
    let sum = 0
    for (let channel = 0; channel < sourceChannels; channel++) sum += read(frame * sourceChannels + channel)
    return sum / sourceChannels
  }
}

/** Makes a sound from a function for its samples. @throws MediaFault `too_large` */
export function createSound(layout: SoundLayout, frames: number, sample: SampleSource['at']): Sound {
  const { channels, encoding } = layout
  const data = new Uint8Array(soundBytes(frames, layout))
  const write = WRITERS[encoding](viewOf(data))
  for (let frame = 0, at = 0; frame < frames; frame++)
    for (let channel = 0; channel < channels; channel++) write(at++, sample(frame, channel))
  return { ...layout, frames, data }
}

/** A part of a sound, with unchanged samples. */
export function sliceSound(sound: Sound, from: number, to: number): Sound {
  const block = sound.channels * BYTES_PER_SAMPLE[sound.encoding]
  return { ...sound, frames: to - from, data: sound.data.subarray(from * block, to * block) }
}
