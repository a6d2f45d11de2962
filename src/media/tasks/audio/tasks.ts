// The tasks for audio. They read and write WAV files.
import { MediaFault } from '../../fault.ts'
import type { MediaTaskHandlers, MediaTaskResult } from '../../task-runner.ts'
import type { SampleSource } from './resampling.ts'
import { convertSounds, createSampleReader, createSound, sliceSound } from './samples.ts'
import { BYTES_PER_SAMPLE, readWav, type SampleEncoding, type Sound, type SoundLayout } from './wav-reader.ts'
import { writeWav } from './wav-writer.ts'

type Files = readonly Uint8Array[]
type Params = Readonly<Record<string, unknown>>

function toResult(sound: Sound): MediaTaskResult {
  const { rate, channels, encoding, frames } = sound
  return {
    files: [writeWav(sound)],
    value: { rate, channels, encoding, bits: BYTES_PER_SAMPLE[encoding] * 8, duration: frames / rate },
  }
}

/** Makes a task that converts one sound. */
function createSoundTask<Asked>(shape: (sound: Sound, asked: Asked) => Sound) {
  return ([bytes]: Files, params: Params): MediaTaskResult =>
    toResult(shape(readWav(bytes!), params as unknown as Asked))
}

function sliceBySeconds(sound: Sound, { from, to }: { from: number; to: number | null }): Sound {
  const first = Math.round(from * sound.rate)
  const last = to === null ? sound.frames : Math.min(sound.frames, Math.round(to * sound.rate))
  if (first > sound.frames)
    throw new MediaFault(
      'bad_input',
      `The part begins after the end of the audio, which has ${sound.frames / sound.rate} seconds.`,
    )
  if (last < first) throw new MediaFault('bad_input', 'The part ends before it begins.')
  return sliceSound(sound, first, last)
}

/** Joins all sounds in the layout of the first. */
function concatenateSounds(files: Files, { gap }: Params): MediaTaskResult {
  const sounds = readSounds(files)
  const layout = sounds[0]!
  const silence = Math.round((gap as number) * layout.rate)
  const converted = convertSounds(sounds, layout)
  const starts: number[] = []
  let frames = 0
  for (const one of converted) {
    starts.push(frames)
    frames += one.frames + silence
  }
  let now = 0
  const sample: SampleSource['at'] = (frame, channel) => {
    while (now + 1 < starts.length && frame >= starts[now + 1]!) now++
    const at = frame - starts[now]!
    return at < converted[now]!.frames ? converted[now]!.at(at, channel) : 0
  }
  return toResult(createSound(pickLayout(layout), frames - silence, sample))
}

/** Mixes all sounds; the result is as long as the longest. */
function mixSounds(files: Files, params: Params): MediaTaskResult {
  const { gains, starts } = params as { gains: number[]; starts: number[] }
  const sounds = readSounds(files)
  guardEach(gains, 'gain', GAIN_BOUNDS)
  guardEach(starts, 'start', START_BOUNDS)
  const layout = pickLayout(sounds[0]!)
  const converted = convertSounds(sounds, layout)
  const parts = converted.map((one, at) => ({
    ...one,
    from: Math.round((starts[at] ?? 0) * layout.rate),
    factor: decibelsToFactor(gains[at] ?? 0),
  }))
  const frames = Math.max(...parts.map((one) => one.from + one.frames))
  const sample: SampleSource['at'] = (frame, channel) => {
    let sum = 0
    for (const one of parts) {
      const at = frame - one.from
      if (at >= 0 && at < one.frames) sum += one.at(at, channel) * one.factor
    }
    return sum
  }
  return toResult(createSound(layout, frames, sample))
}

const GAIN_BOUNDS = { least: -200, most: 60 }
const START_BOUNDS = { least: 0, most: 86_400 }

/** Checks the bounds of a list with one value for each sound. */
function guardEach(values: number[], what: string, { least, most }: { least: number; most: number }): void {
  const at = values.findIndex((value) => !(value >= least && value <= most))
  if (at < 0) return
  const bounds = `from ${least} to ${most.toLocaleString('en')}`
  throw new MediaFault('bad_input', `The ${what} of sound ${at + 1} is ${values[at]}: it must be ${bounds}.`)
}

function readSounds(files: Files): Sound[] {
  if (files.length === 0) throw new MediaFault('bad_input', 'There is no audio.')
  return files.map(readWav)
}

function pickLayout({ rate, channels, encoding }: Sound): SoundLayout {
  return { rate, channels, encoding }
}

function decibelsToFactor(decibels: number): number {
  return 10 ** (decibels / 20)
}

function amplify(sound: Sound, factor: number): Sound {
  const read = createSampleReader(sound)
  return createSound(
    pickLayout(sound),
    sound.frames,
    (frame, channel) => read(frame * sound.channels + channel) * factor,
  )
}

/** The largest absolute sample. */
function findPeak(sound: Sound): number {
  const read = createSampleReader(sound)
  let peak = 0
  for (let at = 0; at < sound.frames * sound.channels; at++) peak = Math.max(peak, Math.abs(read(at)))
  return peak
}

/** Silence stays unchanged. */
function normalizePeak(sound: Sound, { peak }: { peak: number }): Sound {
  const loudest = findPeak(sound)
  return loudest === 0 ? sound : amplify(sound, decibelsToFactor(peak) / loudest)
}

interface FadeParams {
  readonly fade_in: number
  readonly fade_out: number
}

/** Fades in from silence and out to silence. Where both overlap, the lower level counts. */
function applyFade(sound: Sound, { fade_in, fade_out }: FadeParams): Sound {
  const read = createSampleReader(sound)
  const [rise, fall] = [fade_in * sound.rate, fade_out * sound.rate]
  const level = (left: number, all: number) => (left < all ? left / all : 1)
  return createSound(pickLayout(sound), sound.frames, (frame, channel) => {
    const factor = Math.min(level(frame, rise), level(sound.frames - 1 - frame, fall))
    return read(frame * sound.channels + channel) * factor
  })
}

interface ConvertParams {
  readonly rate: number | null
  readonly channels: number | null
  readonly encoding: SampleEncoding | null
}

function convertSound(sound: Sound, asked: ConvertParams): Sound {
  const layout = {
    rate: asked.rate ?? sound.rate,
    channels: asked.channels ?? sound.channels,
    encoding: asked.encoding ?? sound.encoding,
  }
  const [converted] = convertSounds([sound], layout)
  return createSound(layout, converted!.frames, converted!.at)
}

interface ToneParams extends SoundLayout {
  readonly frequency: number
  readonly seconds: number
  readonly level: number
}

function createTone(_files: Files, params: Params): MediaTaskResult {
  const { frequency, seconds, level, rate, channels, encoding } = params as unknown as ToneParams
  if (frequency * 2 >= rate)
    throw new MediaFault('bad_input', `A rate of ${rate} Hz allows only tones below ${rate / 2} Hz.`)
  const turn = (2 * Math.PI * frequency) / rate
  return toResult(
    createSound({ rate, channels, encoding }, Math.round(seconds * rate), (frame) => level * Math.sin(turn * frame)),
  )
}

export const audioTasks: MediaTaskHandlers = {
  'audio.read': createSoundTask((sound) => sound),
  'audio.slice': createSoundTask(sliceBySeconds),
  'audio.concat': concatenateSounds,
  'audio.mix': mixSounds,
  'audio.gain': createSoundTask<{ decibels: number }>((sound, { decibels }) =>
    amplify(sound, decibelsToFactor(decibels)),
  ),
  'audio.normalize': createSoundTask(normalizePeak),
  'audio.fade': createSoundTask(applyFade),
  'audio.convert': createSoundTask(convertSound),
  'audio.tone': createTone,
  'audio.waveform': async ([bytes], params) => (await import('./waveform.ts')).drawWaveform(readWav(bytes!), params),
}
