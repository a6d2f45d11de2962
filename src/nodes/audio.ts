// audio.*: sounds as WAV files. The work is done apart, by the tasks of the same names in src/media.
import type { NodeProperty, NodeType } from '../engine/node-type.ts'
import { oneOf } from '../engine/types.ts'
import { option, output, required } from './define.ts'
import { fileNeeds, fileOf, filesOf, renamed, worked } from './files.ts'
import { imageValue, type MadeImage } from './image.ts'

/** What a task says of the sound that it made. */
interface MadeAudio {
  readonly rate: number
  readonly channels: number
  readonly encoding: string
  readonly bits: number
  /** In seconds. */
  readonly duration: number
}

function audioValue(bytes: Uint8Array, made: MadeAudio, name: string | null) {
  const given = renamed(name, 'wav')
  return { type: 'audio', data: bytes, content_type: 'audio/wav', ...(given === null ? {} : { name: given }), ...made }
}

const AUDIO = required(
  'audio',
  'any',
  'A sound: bytes, an audio value, or the address of an asset or a temporary file. WAV is read.',
)
const AUDIOS = required('audios', 'list[any]', 'The sounds, as the property audio of other nodes takes one.')

const ENCODINGS = ['pcm8', 'pcm16', 'pcm24', 'pcm32', 'float32', 'float64']
const RATES = { min: 1_000, max: 384_000 }
const CHANNELS = { min: 1, max: 32 }
const MADE = [output('audio', 'audio'), output('duration', 'float')]

function taskOf(name: string): string {
  return `audio.${name.toLowerCase()}`
}

/** A node that makes one sound of one. */
function shaping(name: string, title: string, description: string, properties: NodeProperty[]): NodeType {
  return {
    node_type: `audio.${name}`,
    title,
    description,
    properties: [AUDIO, ...properties],
    outputs: MADE,
    needs: fileNeeds('audio'),
    async run({ audio, ...params }, context) {
      const file = await fileOf(audio, 'The audio', context)
      const { files, value } = await worked(taskOf(name), [file], params, context)
      const made = value as MadeAudio
      return { audio: audioValue(files[0]!, made, file.name), duration: made.duration }
    },
  }
}

/** A node that makes one sound of several, in the layout of the first. */
function joining(name: string, title: string, description: string, properties: NodeProperty[]): NodeType {
  return {
    node_type: `audio.${name}`,
    title,
    description: `${description} Rate, channels and encoding are those of the first; the others are brought to them.`,
    properties: [AUDIOS, ...properties],
    outputs: MADE,
    needs: fileNeeds('audios'),
    async run({ audios, ...params }, context) {
      const taken = await filesOf(audios as unknown[], 'Audio', context)
      const { files, value } = await worked(taskOf(name), taken, params, context)
      const made = value as MadeAudio
      return { audio: audioValue(files[0]!, made, taken[0]!.name), duration: made.duration }
    },
  }
}

const DECIBELS = { min: -200, max: 60 }

const read: NodeType = {
  node_type: 'audio.Read',
  title: 'Read audio',
  description: 'Reads a WAV file and says what it is. Only its sound is kept, not what else the file holds.',
  properties: [AUDIO],
  outputs: [
    ...MADE,
    output('rate', 'int'),
    output('channels', 'int'),
    output('bits', 'int'),
    output('encoding', oneOf(...ENCODINGS)),
  ],
  needs: fileNeeds('audio'),
  async run({ audio }, context) {
    const file = await fileOf(audio, 'The audio', context)
    const { files, value } = await worked('audio.read', [file], {}, context)
    const made = value as MadeAudio
    return { audio: audioValue(files[0]!, made, file.name), ...made }
  },
}

const tone: NodeType = {
  node_type: 'audio.Tone',
  title: 'Tone',
  description: 'Makes a sine tone, which begins at zero.',
  properties: [
    option('frequency', 'float', 'In hertz.', { default: 440, min: 0.01, max: 190_000 }),
    option('seconds', 'float', 'How long it is.', { default: 1, min: 0, max: 86_400 }),
    option('level', 'float', 'Its loudest sample, of 1.', { default: 0.5, min: 0, max: 1 }),
    option('rate', 'int', 'Frames per second.', { default: 44_100, ...RATES }),
    option('channels', 'int', 'How many, which are all alike.', { default: 1, ...CHANNELS }),
    option('encoding', oneOf(...ENCODINGS), 'How samples are written.', { default: 'pcm16' }),
  ],
  outputs: MADE,
  async run(params, context) {
    const { files, value } = await worked('audio.tone', [], params, context)
    const made = value as MadeAudio
    return { audio: audioValue(files[0]!, made, 'tone'), duration: made.duration }
  },
}

const waveform: NodeType = {
  node_type: 'audio.Waveform',
  title: 'Waveform',
  description:
    'Draws how loud a sound is over its time, and gives the lowest and highest sample of each of its columns.',
  properties: [
    AUDIO,
    option('width', 'int', 'In pixels; as many pairs are given.', { default: 800, min: 1, max: 8_000 }),
    option('height', 'int', 'In pixels.', { default: 200, min: 1, max: 4_000 }),
    option('colour', 'str', 'The colour of the sound.', { default: '#4c78a8' }),
    option('background', 'str', 'The colour behind it.', { default: '#ffffff' }),
  ],
  outputs: [output('image', 'image'), output('peaks', 'list[list[float]]'), output('duration', 'float')],
  needs: fileNeeds('audio'),
  async run({ audio, ...params }, context) {
    const file = await fileOf(audio, 'The audio', context)
    const { files, value } = await worked('audio.waveform', [file], params, context)
    const { peaks, duration, ...made } = value as MadeImage & { peaks: number[][]; duration: number }
    return { image: imageValue(files[0]!, made, file.name ?? 'waveform'), peaks, duration }
  },
}

export const audioNodes: NodeType[] = [
  read,
  tone,
  waveform,
  shaping('Slice', 'Slice audio', 'Cuts a part out of a sound.', [
    option('from', 'float', 'Where the part begins, in seconds.', { default: 0, min: 0 }),
    option('to', 'float?', 'Where it ends, in seconds. Null: where the sound ends.', { min: 0 }),
  ]),
  shaping('Gain', 'Change volume', 'Makes a sound louder or softer. What would be too loud for its encoding is cut.', [
    required('decibels', 'float', '6 is about twice as loud, −6 half.', DECIBELS),
  ]),
  shaping(
    'Normalize',
    'Normalize audio',
    'Makes a sound so loud that its loudest sample has a level. Silence stays as it is.',
    [
      option('peak', 'float', 'The level, in decibels below the loudest that can be said.', {
        default: -1,
        min: -100,
        max: 0,
      }),
    ],
  ),
  shaping('Fade', 'Fade audio', 'Makes a sound begin and end softly, so that it does not click.', [
    option('fade_in', 'float', 'How long it grows from silence, in seconds.', { default: 0.01, min: 0, max: 3_600 }),
    option('fade_out', 'float', 'How long it shrinks to silence, in seconds.', { default: 0.01, min: 0, max: 3_600 }),
  ]),
  shaping(
    'Convert',
    'Convert audio',
    'Writes a sound with another rate, other channels or in another encoding. Several channels become one as their mean.',
    [
      option('rate', 'int?', 'Frames per second. Null: as it is.', RATES),
      option('channels', 'int?', 'One, or several of one. Null: as it is.', CHANNELS),
      option('encoding', { ...oneOf(...ENCODINGS), optional: true }, 'How samples are written. Null: as it is.'),
    ],
  ),
  joining('Concat', 'Join audio', 'Plays sounds one after the other.', [
    option('gap', 'float', 'Silence between two, in seconds.', { default: 0, min: 0, max: 3_600 }),
  ]),
  joining(
    'Mix',
    'Mix audio',
    'Plays sounds at the same time. It is as long as the longest; what would be too loud is cut.',
    [
      option('gains', 'list[float]', 'How much louder each is, in decibels; 0 where none is given.', { default: [] }),
      option('starts', 'list[float]', 'When each begins, in seconds; 0 where none is given.', { default: [] }),
    ],
  ),
]
