// audio.*: sounds as WAV files. Tasks of the same names in src/media do the work in a worker.
import type { NodeProperty, NodeType } from '../engine/node-api/node-type.ts'
import { createEnumType } from '../engine/node-api/values/type-metadata.ts'
import { type MadeImage, toImageValue } from './image/transform-nodes.ts'
import {
  createFileNeedsReader,
  readFileInput,
  readFileInputs,
  replaceExtension,
  runMediaTask,
} from './shared/file-inputs.ts'
import { optionalProperty, requiredProperty, valueOutput } from './shared/node-type-builders.ts'

/** The facts that a task reports of the sound that it made. */
interface MadeAudio {
  readonly rate: number
  readonly channels: number
  readonly encoding: string
  readonly bits: number
  /** In seconds. */
  readonly duration: number
}

function audioValue(bytes: Uint8Array, made: MadeAudio, name: string | null) {
  const given = replaceExtension(name, 'wav')
  return { type: 'audio', data: bytes, content_type: 'audio/wav', ...(given === null ? {} : { name: given }), ...made }
}

const AUDIO_PROPERTY = requiredProperty(
  'audio',
  'any',
  'A sound as a WAV file: bytes, an audio value, or the URL of an asset or a temporary file.',
)
const AUDIOS_PROPERTY = requiredProperty(
  'audios',
  'list[any]',
  'The sounds as WAV files: bytes, audio values, or URLs of assets or temporary files.',
)

const ENCODINGS = ['pcm8', 'pcm16', 'pcm24', 'pcm32', 'float32', 'float64']
const RATES = { min: 1_000, max: 384_000 }
const CHANNELS = { min: 1, max: 32 }
const SOUND_OUTPUTS = [valueOutput('audio', 'audio'), valueOutput('duration', 'float')]

function mediaTaskName(name: string): string {
  return `audio.${name.toLowerCase()}`
}

/** Defines a node that makes one sound from one sound. */
function defineTransformNode(name: string, title: string, description: string, properties: NodeProperty[]): NodeType {
  return {
    node_type: `audio.${name}`,
    title,
    description,
    properties: [AUDIO_PROPERTY, ...properties],
    outputs: SOUND_OUTPUTS,
    needs: createFileNeedsReader('audio'),
    async run({ audio, ...params }, context) {
      const file = await readFileInput(audio, 'The audio', context)
      const { files, value } = await runMediaTask(mediaTaskName(name), [file], params, context)
      const made = value as MadeAudio
      return { audio: audioValue(files[0]!, made, file.name), duration: made.duration }
    },
  }
}

/** Defines a node that makes one sound from several, in the format of the first. */
function defineCombineNode(name: string, title: string, description: string, properties: NodeProperty[]): NodeType {
  return {
    node_type: `audio.${name}`,
    title,
    description: `${description} The rate, channels and encoding of the first sound are used; the other sounds are converted to them.`,
    properties: [AUDIOS_PROPERTY, ...properties],
    outputs: SOUND_OUTPUTS,
    needs: createFileNeedsReader('audios'),
    async run({ audios, ...params }, context) {
      const taken = await readFileInputs(audios as unknown[], 'Audio', context)
      const { files, value } = await runMediaTask(mediaTaskName(name), taken, params, context)
      const made = value as MadeAudio
      return { audio: audioValue(files[0]!, made, taken[0]!.name), duration: made.duration }
    },
  }
}

const DECIBELS = { min: -200, max: 60 }

const read: NodeType = {
  node_type: 'audio.Read',
  title: 'Read audio',
  description: 'Reads a WAV file and reports its format. Only the sound is kept, without other data of the file.',
  properties: [AUDIO_PROPERTY],
  outputs: [
    ...SOUND_OUTPUTS,
    valueOutput('rate', 'int'),
    valueOutput('channels', 'int'),
    valueOutput('bits', 'int'),
    valueOutput('encoding', createEnumType(...ENCODINGS)),
  ],
  needs: createFileNeedsReader('audio'),
  async run({ audio }, context) {
    const file = await readFileInput(audio, 'The audio', context)
    const { files, value } = await runMediaTask('audio.read', [file], {}, context)
    const made = value as MadeAudio
    return { audio: audioValue(files[0]!, made, file.name), ...made }
  },
}

const tone: NodeType = {
  node_type: 'audio.Tone',
  title: 'Tone',
  description: 'Makes a sine tone that begins at zero.',
  properties: [
    optionalProperty('frequency', 'float', 'In hertz.', { default: 440, min: 0.01, max: 190_000 }),
    optionalProperty('seconds', 'float', 'How long it is.', { default: 1, min: 0, max: 86_400 }),
    optionalProperty('level', 'float', 'The amplitude, from 0 to 1.', { default: 0.5, min: 0, max: 1 }),
    optionalProperty('rate', 'int', 'Frames per second.', { default: 44_100, ...RATES }),
    optionalProperty('channels', 'int', 'The number of channels, which are all the same.', { default: 1, ...CHANNELS }),
    optionalProperty('encoding', createEnumType(...ENCODINGS), 'How samples are written.', { default: 'pcm16' }),
  ],
  outputs: SOUND_OUTPUTS,
  async run(params, context) {
    const { files, value } = await runMediaTask('audio.tone', [], params, context)
    const made = value as MadeAudio
    return { audio: audioValue(files[0]!, made, 'tone'), duration: made.duration }
  },
}

const waveform: NodeType = {
  node_type: 'audio.Waveform',
  title: 'Waveform',
  description:
    'Draws the loudness of a sound over time. Gives the lowest and the highest sample of each column of pixels.',
  properties: [
    AUDIO_PROPERTY,
    optionalProperty('width', 'int', 'In pixels. There is a pair of peaks for each pixel.', {
      default: 800,
      min: 1,
      max: 8_000,
    }),
    optionalProperty('height', 'int', 'In pixels.', { default: 200, min: 1, max: 4_000 }),
    optionalProperty('colour', 'str', 'The colour of the sound.', { default: '#4c78a8' }),
    optionalProperty('background', 'str', 'The colour behind it.', { default: '#ffffff' }),
  ],
  outputs: [valueOutput('image', 'image'), valueOutput('peaks', 'list[list[float]]'), valueOutput('duration', 'float')],
  needs: createFileNeedsReader('audio'),
  async run({ audio, ...params }, context) {
    const file = await readFileInput(audio, 'The audio', context)
    const { files, value } = await runMediaTask('audio.waveform', [file], params, context)
    const { peaks, duration, ...made } = value as MadeImage & { peaks: number[][]; duration: number }
    return { image: toImageValue(files[0]!, made, file.name ?? 'waveform'), peaks, duration }
  },
}

export const audioNodes: NodeType[] = [
  read,
  tone,
  waveform,
  defineTransformNode('Slice', 'Slice audio', 'Cuts a part out of a sound.', [
    optionalProperty('from', 'float', 'Where the part begins, in seconds.', { default: 0, min: 0 }),
    optionalProperty('to', 'float?', 'Where it ends, in seconds. Null: where the sound ends.', { min: 0 }),
  ]),
  defineTransformNode(
    'Gain',
    'Change volume',
    'Makes a sound louder or softer. Samples that are too loud for the encoding are clipped.',
    [requiredProperty('decibels', 'float', '6 is about twice as loud, −6 half.', DECIBELS)],
  ),
  defineTransformNode(
    'Normalize',
    'Normalize audio',
    'Changes the volume so that the loudest sample has a given level. Silence stays unchanged.',
    [
      optionalProperty('peak', 'float', 'The level in decibels, where 0 is the loudest that the encoding can hold.', {
        default: -1,
        min: -100,
        max: 0,
      }),
    ],
  ),
  defineTransformNode('Fade', 'Fade audio', 'Makes a sound begin and end softly, so that it does not click.', [
    optionalProperty('fade_in', 'float', 'How long it grows from silence, in seconds.', {
      default: 0.01,
      min: 0,
      max: 3_600,
    }),
    optionalProperty('fade_out', 'float', 'How long it shrinks to silence, in seconds.', {
      default: 0.01,
      min: 0,
      max: 3_600,
    }),
  ]),
  defineTransformNode(
    'Convert',
    'Convert audio',
    'Converts a sound to another rate, number of channels or encoding. Several channels become one by their mean.',
    [
      optionalProperty('rate', 'int?', 'Frames per second. Null: unchanged.', RATES),
      optionalProperty(
        'channels',
        'int?',
        'The number of channels: 1 from several, or several from 1. Null: unchanged.',
        CHANNELS,
      ),
      optionalProperty(
        'encoding',
        { ...createEnumType(...ENCODINGS), optional: true },
        'How samples are written. Null: unchanged.',
      ),
    ],
  ),
  defineCombineNode('Concat', 'Join audio', 'Plays sounds one after the other.', [
    optionalProperty('gap', 'float', 'Silence between two, in seconds.', { default: 0, min: 0, max: 3_600 }),
  ]),
  defineCombineNode(
    'Mix',
    'Mix audio',
    'Plays sounds at the same time. The result is as long as the longest sound; samples that are too loud are clipped.',
    [
      optionalProperty(
        'gains',
        'list[float]',
        'How much louder each sound becomes, in decibels; 0 if no number is given.',
        {
          default: [],
        },
      ),
      optionalProperty('starts', 'list[float]', 'When each sound begins, in seconds; 0 if no number is given.', {
        default: [],
      }),
    ],
  ),
]
