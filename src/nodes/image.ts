// image.*: pictures, shaped and toned. The work is done apart, by the tasks of the same names in src/media.
import type { NodeProperty, NodeType } from '../engine/node-type.ts'
import { oneOf } from '../engine/types.ts'
import { option, output, required } from './define.ts'
import { fileNeeds, fileOf, renamed, worked } from './files.ts'

/** What an image task says of the picture that it made. */
export interface MadeImage {
  readonly width: number
  readonly height: number
  readonly content_type: string
  readonly extension: string
}

/** A picture as a value: its bytes, until they are kept somewhere. */
export function imageValue(
  bytes: Uint8Array,
  { width, height, content_type, extension }: MadeImage,
  name: string | null,
) {
  const given = renamed(name, extension)
  return { type: 'image', data: bytes, content_type, ...(given === null ? {} : { name: given }), width, height }
}

export const IMAGE = required(
  'image',
  'any',
  'A picture: bytes, an image value, or the address of an asset or a temporary file. Of a file with several frames or pages, the first.',
)

export const AS_FILE: NodeProperty[] = [
  option(
    'format',
    { ...oneOf('png', 'jpeg', 'webp', 'avif', 'gif', 'tiff'), optional: true },
    'The format to write. Null: that of the picture, or PNG where it cannot be written.',
  ),
  option(
    'quality',
    'int?',
    'From 1 to 100, for JPEG, WebP, AVIF and TIFF. Null: as the format does by itself, TIFF without any loss.',
    { min: 1, max: 100 },
  ),
]

export const BACKGROUND = option(
  'background',
  'str',
  'The colour of what no picture covers, such as #ffffff or rgba(0,0,0,0).',
  { default: '#00000000' },
)

export const SIDE = { min: 1, max: 16_384 }

/** A node that makes one picture of one. */
export function shaping(name: string, title: string, description: string, properties: NodeProperty[]): NodeType {
  const task = `image.${name.charAt(0).toLowerCase()}${name.slice(1)}`
  return {
    node_type: `image.${name}`,
    title,
    description,
    properties: [IMAGE, ...properties, ...AS_FILE],
    outputs: [output('image', 'image'), output('width', 'int'), output('height', 'int')],
    needs: fileNeeds('image'),
    async run({ image, ...params }, context) {
      const file = await fileOf(image, 'The image', context)
      const { files, value } = await worked(task, [file], params, context)
      const made = value as MadeImage
      return { image: imageValue(files[0]!, made, file.name), width: made.width, height: made.height }
    },
  }
}

export const imageNodes: NodeType[] = [
  shaping(
    'Resize',
    'Resize image',
    'Makes a picture larger or smaller. With one side, the other follows. A moving picture still moves where GIF or WebP is written.',
    [
      option('width', 'int?', 'In pixels, or null.', SIDE),
      option('height', 'int?', 'In pixels, or null.', SIDE),
      option(
        'fit',
        oneOf('inside', 'cover', 'contain', 'fill', 'outside'),
        'How both sides are met: inside keeps all of the picture within them, cover fills them and cuts off what is too much, contain adds a background, fill distorts, outside is at least as large.',
        { default: 'inside' },
      ),
      option('enlarge', 'bool', 'Whether a smaller picture is made larger.', { default: true }),
      BACKGROUND,
    ],
  ),
  shaping('Crop', 'Crop image', 'Cuts a part out of a picture.', [
    option('left', 'int', 'Where the part begins, in pixels from the left.', { default: 0, min: 0 }),
    option('top', 'int', 'Where the part begins, in pixels from the top.', { default: 0, min: 0 }),
    required('width', 'int', 'In pixels.', SIDE),
    required('height', 'int', 'In pixels.', SIDE),
  ]),
  shaping('Rotate', 'Rotate image', 'Turns a picture clockwise. It grows as far as its corners need.', [
    required('angle', 'float', 'In degrees.', { min: -360, max: 360 }),
    BACKGROUND,
  ]),
  shaping('Flip', 'Flip image', 'Mirrors a picture.', [
    option('axis', oneOf('horizontal', 'vertical'), 'horizontal swaps left and right, vertical top and bottom.', {
      default: 'horizontal',
    }),
  ]),
  shaping('Blur', 'Blur image', 'Softens a picture.', [
    option('radius', 'float', 'The standard deviation of the blur, in pixels.', { default: 3, min: 0.3, max: 1000 }),
  ]),
  shaping('Sharpen', 'Sharpen image', 'Sharpens the edges of a picture.', [
    option('radius', 'float', 'How far the edges reach, in pixels.', { default: 1, min: 0.1, max: 10 }),
  ]),
  shaping('Grayscale', 'Turn image gray', 'Takes the colours out of a picture.', []),
  shaping('Adjust', 'Adjust image', 'Changes how bright and colourful a picture is.', [
    option('brightness', 'float', '1 leaves it, 2 is twice as bright.', { default: 1, min: 0, max: 10 }),
    option('saturation', 'float', '1 leaves it, 0 takes all colours out.', { default: 1, min: 0, max: 10 }),
    option('hue', 'int', 'Turns all colours, in degrees.', { default: 0, min: -360, max: 360 }),
  ]),
  shaping(
    'Convert',
    'Convert image',
    'Writes a picture in another format. Nothing of its metadata is kept but its colours. A moving picture still moves where GIF or WebP is written.',
    [
      option(
        'frame',
        'int?',
        'Which one is taken of a file with several frames or pages, such as a scan in TIFF, counted from 1. Null: the first, or all of a moving picture.',
        { min: 1, max: 1_000 },
      ),
    ],
  ),
]
