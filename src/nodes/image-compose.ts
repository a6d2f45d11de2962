// image.*: what is laid upon pictures, cut off them and added to them. The work is done apart, by the tasks of the same names in src/media.

import { NodeError, type NodeProperty, type NodeType } from '../engine/node-type.ts'
import { oneOf } from '../engine/types.ts'
import { kindOf } from '../engine/values.ts'
import { cut } from '../short.ts'
import { option, output, required } from './define.ts'
import { fileNeeds, fileOf, filesOf, worked } from './files.ts'
import { AS_FILE, BACKGROUND, IMAGE, imageValue, type MadeImage, shaping } from './image.ts'

const BLENDS = [
  'over',
  'multiply',
  'screen',
  'overlay',
  'darken',
  'lighten',
  'add',
  'difference',
  'exclusion',
  'hard-light',
  'soft-light',
  'color-dodge',
  'color-burn',
]
/** In pixels: no picture is longer. */
const FARTHEST = 32_768

interface Place {
  readonly left: number
  readonly top: number
  readonly blend: string
  readonly opacity: number
}

/** Whether a place's value is good, by its name. */
const PLACED: Readonly<Record<keyof Place, (value: unknown) => boolean>> = {
  left: (value) => Number.isInteger(value) && Math.abs(value as number) <= FARTHEST,
  top: (value) => Number.isInteger(value) && Math.abs(value as number) <= FARTHEST,
  blend: (value) => BLENDS.includes(value as string),
  opacity: (value) => typeof value === 'number' && value >= 0 && value <= 1,
}

/** Throws NodeError `bad_input` where a place is none. */
function placeOf(value: unknown, at: number, usual: Place): Place {
  if (value === undefined || value === null) return usual
  if (typeof value !== 'object' || Array.isArray(value))
    throw new NodeError(`Place ${at + 1} is ${kindOf(value)}: places are objects.`, 'bad_input')
  for (const [name, one] of Object.entries(value)) {
    if (!Object.hasOwn(PLACED, name) || !PLACED[name as keyof Place](one))
      throw new NodeError(
        `Place ${at + 1} has a "${cut(name, 40)}" that is none: left and top are whole numbers of pixels, opacity is from 0 to 1, and blend one of ${BLENDS.join(', ')}.`,
        'bad_input',
      )
  }
  return { ...usual, ...value }
}

const OUTPUTS = [output('image', 'image'), output('width', 'int'), output('height', 'int')]

function given(bytes: Uint8Array, value: unknown, name: string | null) {
  const made = value as MadeImage
  return { image: imageValue(bytes, made, name), width: made.width, height: made.height }
}

const composite: NodeType = {
  node_type: 'image.Composite',
  title: 'Lay images upon an image',
  description: 'Lays pictures upon a picture, one after the other. What lies beyond its edges is cut off.',
  properties: [
    IMAGE,
    required('images', 'list[any]', 'The pictures to lay upon it.'),
    option(
      'places',
      'list[dict[str,any]]',
      'For each picture, in their order: left and top in pixels, blend, opacity. What a place leaves open is as the properties say, at the top left.',
      { default: [] },
    ),
    option('blend', oneOf(...BLENDS), 'How colours meet.', { default: 'over' }),
    option('opacity', 'float', 'From 0, where nothing is seen of a picture, to 1.', { default: 1, min: 0, max: 1 }),
    ...AS_FILE,
  ],
  outputs: OUTPUTS,
  needs: fileNeeds('image', 'images'),
  async run({ image, images, places, blend, opacity, ...params }, context) {
    const usual = { left: 0, top: 0, blend: blend as string, opacity: opacity as number }
    const layers = images as unknown[]
    const given_places = places as unknown[]
    if (given_places.length > layers.length) throw new NodeError('There are more places than images.', 'bad_input')
    const all = layers.map((_, at) => placeOf(given_places[at], at, usual))
    const base = await fileOf(image, 'The image', context)
    const others = await filesOf(layers, 'Image', context)
    const { files, value } = await worked('image.composite', [base, ...others], { ...params, places: all }, context)
    return given(files[0]!, value, base.name)
  },
}

const contactSheet: NodeType = {
  node_type: 'image.ContactSheet',
  title: 'Contact sheet',
  description: 'Puts small versions of pictures in a grid on one, with their names below them.',
  properties: [
    required('images', 'list[any]', 'The pictures, as the property image of other nodes takes one.'),
    option('names', 'list[str]?', 'What stands below each. Null: the names of the files; an empty list: nothing.'),
    option('columns', 'int', 'How many stand side by side.', { default: 4, min: 1, max: 20 }),
    option('size', 'int', 'Of one small picture, in pixels: none is wider or higher.', {
      default: 200,
      min: 16,
      max: 1_000,
    }),
    option('gap', 'int', 'Between them and around all, in pixels.', { default: 12, min: 0, max: 200 }),
    option('text_size', 'int', 'Of the names, in pixels.', { default: 12, min: 6, max: 60 }),
    option('background', 'str', 'The colour behind all.', { default: '#ffffff' }),
    option('colour', 'str', 'The colour of the names.', { default: '#000000' }),
    ...AS_FILE,
  ],
  outputs: OUTPUTS,
  needs: fileNeeds('images'),
  async run({ images, names, ...params }, context) {
    const files = await filesOf(images as unknown[], 'Image', context)
    const labels = (names as string[] | null) ?? files.map(({ name }) => name ?? '')
    const shown = labels.every((name) => name === '') ? [] : labels.slice(0, files.length)
    const made = await worked('image.contactSheet', files, { ...params, names: shown }, context)
    return given(made.files[0]!, made.value, 'contact-sheet')
  },
}

const TEXT: NodeProperty[] = [
  required('text', 'str', 'What is written. Lines break where there is no room.'),
  option('size', 'float', 'Of the letters, in pixels.', { default: 32, min: 4, max: 1_000 }),
  option('colour', 'str', 'The colour of the letters, such as #ffffff or rgba(0,0,0,0.5).', { default: '#000000' }),
  option('font', oneOf('sans', 'serif', 'mono'), 'The font: DejaVu Sans, DejaVu Serif or DejaVu Sans Mono.', {
    default: 'sans',
  }),
  option('bold', 'bool', 'Draws thick letters.', { default: false }),
  option('align', oneOf('left', 'center', 'right'), 'Where shorter lines stand.', { default: 'left' }),
  option(
    'gravity',
    oneOf('top_left', 'top', 'top_right', 'left', 'center', 'right', 'bottom_left', 'bottom', 'bottom_right'),
    'Where the text stands in the picture.',
    { default: 'bottom' },
  ),
  option('margin', 'int', 'How far from the edges it stands, in pixels.', { default: 10, min: 0, max: 4_000 }),
  option('left', 'int?', 'Where it begins, in pixels from the left. Null: as gravity says.', {
    min: -FARTHEST,
    max: FARTHEST,
  }),
  option('top', 'int?', 'Where it begins, in pixels from the top. Null: as gravity says.', {
    min: -FARTHEST,
    max: FARTHEST,
  }),
  option('width', 'int?', 'Where lines break, in pixels. Null: at the other edge of the picture.', {
    min: 1,
    max: 16_384,
  }),
]

const EDGE = { default: 0, min: 0, max: 16_384 }

export const imageComposeNodes: NodeType[] = [
  composite,
  contactSheet,
  shaping('DrawText', 'Write on image', 'Writes a text on a picture.', TEXT),
  shaping('Trim', 'Trim image', 'Cuts off edges that have the colour of the top left pixel.', [
    option('tolerance', 'int', 'How much colours may differ, of 255.', { default: 10, min: 0, max: 254 }),
  ]),
  shaping('Pad', 'Pad image', 'Adds edges to a picture.', [
    ...['left', 'right', 'top', 'bottom'].map((side) => option(side, 'int', `At the ${side}, in pixels.`, EDGE)),
    BACKGROUND,
  ]),
]
