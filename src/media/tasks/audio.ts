// Tasks on sounds. Files are WAV; what is made is one as well.
import { MediaFault } from '../fault.ts'
import type { Made, Tasks } from '../serving.ts'
import type { Heard } from './audio-resample.ts'
import { heardAs, part, readerOf, soundOf } from './audio-samples.ts'
import { BYTES, type Encoding, type Layout, readWav, type Sound } from './audio-wav.ts'
import { writeWav } from './audio-wav-write.ts'

type Files = readonly Uint8Array[]
type Params = Readonly<Record<string, unknown>>

function made(sound: Sound): Made {
  const { rate, channels, encoding, frames } = sound
  return {
    files: [writeWav(sound)],
    value: { rate, channels, encoding, bits: BYTES[encoding] * 8, duration: frames / rate },
  }
}

/** A task that makes a sound of one. */
function shaped<Asked>(shape: (sound: Sound, asked: Asked) => Sound) {
  return ([bytes]: Files, params: Params): Made => made(shape(readWav(bytes!), params as unknown as Asked))
}

function sliced(sound: Sound, { from, to }: { from: number; to: number | null }): Sound {
  const first = Math.round(from * sound.rate)
  const last = to === null ? sound.frames : Math.min(sound.frames, Math.round(to * sound.rate))
  if (first > sound.frames)
    throw new MediaFault(
      'bad_input',
      `The part begins after the end of the audio, which has ${sound.frames / sound.rate} seconds.`,
    )
  if (last < first) throw new MediaFault('bad_input', 'The part ends before it begins.')
  return part(sound, first, last)
}

/** All, one after the other, in the layout of the first. */
function joined(files: Files, { gap }: Params): Made {
  const sounds = all(files)
  const layout = sounds[0]!
  const silence = Math.round((gap as number) * layout.rate)
  const heard = heardAs(sounds, layout)
  const starts: number[] = []
  let frames = 0
  for (const one of heard) {
    starts.push(frames)
    frames += one.frames + silence
  }
  let now = 0
  const sample: Heard['at'] = (frame, channel) => {
    while (now + 1 < starts.length && frame >= starts[now + 1]!) now++
    const at = frame - starts[now]!
    return at < heard[now]!.frames ? heard[now]!.at(at, channel) : 0
  }
  return made(soundOf(layoutOf(layout), frames - silence, sample))
}

/** All at the same time, as long as the longest. */
function mixed(files: Files, params: Params): Made {
  const { gains, starts } = params as { gains: number[]; starts: number[] }
  const sounds = all(files)
  guardEach(gains, 'gain', DECIBELS)
  guardEach(starts, 'start', SECONDS)
  const layout = layoutOf(sounds[0]!)
  const heard = heardAs(sounds, layout)
  const parts = heard.map((one, at) => ({
    ...one,
    from: Math.round((starts[at] ?? 0) * layout.rate),
    factor: factorOf(gains[at] ?? 0),
  }))
  const frames = Math.max(...parts.map((one) => one.from + one.frames))
  const sample: Heard['at'] = (frame, channel) => {
    let sum = 0
    for (const one of parts) {
      const at = frame - one.from
      if (at >= 0 && at < one.frames) sum += one.at(at, channel) * one.factor
    }
    return sum
  }
  return made(soundOf(layout, frames, sample))
}

const DECIBELS = { least: -200, most: 60 }
const SECONDS = { least: 0, most: 86_400 }

/** The bounds of values that stand in lists, one for each sound. */
function guardEach(values: number[], what: string, { least, most }: { least: number; most: number }): void {
  const at = values.findIndex((value) => !(value >= least && value <= most))
  if (at < 0) return
  const bounds = `from ${least} to ${most.toLocaleString('en')}`
  throw new MediaFault('bad_input', `The ${what} of sound ${at + 1} is ${values[at]}: it may be ${bounds}.`)
}

function all(files: Files): Sound[] {
  if (files.length === 0) throw new MediaFault('bad_input', 'There is no audio.')
  return files.map(readWav)
}

function layoutOf({ rate, channels, encoding }: Sound): Layout {
  return { rate, channels, encoding }
}

function factorOf(decibels: number): number {
  return 10 ** (decibels / 20)
}

function louder(sound: Sound, factor: number): Sound {
  const read = readerOf(sound)
  return soundOf(layoutOf(sound), sound.frames, (frame, channel) => read(frame * sound.channels + channel) * factor)
}

/** The loudest sample, from 0. */
function peakOf(sound: Sound): number {
  const read = readerOf(sound)
  let peak = 0
  for (let at = 0; at < sound.frames * sound.channels; at++) peak = Math.max(peak, Math.abs(read(at)))
  return peak
}

/** Silence stays what it is. */
function normalized(sound: Sound, { peak }: { peak: number }): Sound {
  const loudest = peakOf(sound)
  return loudest === 0 ? sound : louder(sound, factorOf(peak) / loudest)
}

interface Fade {
  readonly fade_in: number
  readonly fade_out: number
}

/** From nothing at its first frame, to nothing at its last one; where both overlap, as loud as the softer. */
function faded(sound: Sound, { fade_in, fade_out }: Fade): Sound {
  const read = readerOf(sound)
  const [rise, fall] = [fade_in * sound.rate, fade_out * sound.rate]
  const level = (left: number, all: number) => (left < all ? left / all : 1)
  return soundOf(layoutOf(sound), sound.frames, (frame, channel) => {
    const factor = Math.min(level(frame, rise), level(sound.frames - 1 - frame, fall))
    return read(frame * sound.channels + channel) * factor
  })
}

interface Convert {
  readonly rate: number | null
  readonly channels: number | null
  readonly encoding: Encoding | null
}

function converted(sound: Sound, asked: Convert): Sound {
  const layout = {
    rate: asked.rate ?? sound.rate,
    channels: asked.channels ?? sound.channels,
    encoding: asked.encoding ?? sound.encoding,
  }
  const [heard] = heardAs([sound], layout)
  return soundOf(layout, heard!.frames, heard!.at)
}

interface Tone extends Layout {
  readonly frequency: number
  readonly seconds: number
  readonly level: number
}

function tone(_files: Files, params: Params): Made {
  const { frequency, seconds, level, rate, channels, encoding } = params as unknown as Tone
  if (frequency * 2 >= rate) throw new MediaFault('bad_input', `A rate of ${rate} Hz holds tones below ${rate / 2} Hz.`)
  const turn = (2 * Math.PI * frequency) / rate
  return made(
    soundOf({ rate, channels, encoding }, Math.round(seconds * rate), (frame) => level * Math.sin(turn * frame)),
  )
}

export const audioTasks: Tasks = {
  'audio.read': shaped((sound) => sound),
  'audio.slice': shaped(sliced),
  'audio.concat': joined,
  'audio.mix': mixed,
  'audio.gain': shaped<{ decibels: number }>((sound, { decibels }) => louder(sound, factorOf(decibels))),
  'audio.normalize': shaped(normalized),
  'audio.fade': shaped(faded),
  'audio.convert': shaped(converted),
  'audio.tone': tone,
  'audio.waveform': async ([bytes], params) => (await import('./audio-waveform.ts')).waveform(readWav(bytes!), params),
}
