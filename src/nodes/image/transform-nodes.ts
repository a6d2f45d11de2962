// image.*: pictures, shaped and toned. The work is done apart, by the tasks of the same names in src/media.
import type { NodeProperty, NodeType } from '../../engine/node-api/node-type.ts'
import { createEnumType } from '../../engine/node-api/values/type-metadata.ts'
import { createFileNeedsReader, readFileInput, replaceExtension, runMediaTask } from '../shared/file-inputs.ts'
import { optionalProperty, requiredProperty, valueOutput } from '../shared/node-type-builders.ts'

/** What an image task says of the picture that it made. */
export interface MadeImage {
  readonly width: number
  readonly height: number
  readonly content_type: string
  readonly extension: string
}

/** A picture as a value: its bytes, until they are kept somewhere. */
export function toImageValue(
  bytes: Uint8Array,
  { width, height, content_type, extension }: MadeImage,
  name: string | null,
) {
  const given = replaceExtension(name, extension)
  return { type: 'image', data: bytes, content_type, ...(given === null ? {} : { name: given }), width, height }
}

export const IMAGE_PROPERTY = requiredProperty(
  'image',
  'any',
  'A picture: bytes, an image value, or the address of an asset or a temporary file. Of a file with several frames or pages, the first.',
)

export const FORMAT_PROPERTIES: NodeProperty[] = [
  optionalProperty(
    'format',
    { ...createEnumType('png', 'jpeg', 'webp', 'avif', 'gif', 'tiff'), optional: true },
    'The format to write. Null: that of the picture, or PNG where it cannot be written.',
  ),
  optionalProperty(
    'quality',
    'int?',
    'From 1 to 100, for JPEG, WebP, AVIF and TIFF. Null: as the format does by itself, TIFF without any loss.',
    { min: 1, max: 100 },
  ),
]

export const BACKGROUND_PROPERTY = optionalProperty(
  'background',
  'str',
  'The colour of what no picture covers, such as #ffffff or rgba(0,0,0,0).',
  { default: '#00000000' },
)

export const SIDE_RANGE = { min: 1, max: 16_384 }

/** A node that makes one picture of one. */
export function defineImageTransform(
  name: string,
  title: string,
  description: string,
  properties: NodeProperty[],
): NodeType {
  const task = `image.${name.charAt(0).toLowerCase()}${name.slice(1)}`
  return {
    node_type: `image.${name}`,
    title,
    description,
    properties: [IMAGE_PROPERTY, ...properties, ...FORMAT_PROPERTIES],
    outputs: [valueOutput('image', 'image'), valueOutput('width', 'int'), valueOutput('height', 'int')],
    needs: createFileNeedsReader('image'),
    async run({ image, ...params }, context) {
      const file = await readFileInput(image, 'The image', context)
      const { files, value } = await runMediaTask(task, [file], params, context)
      const made = value as MadeImage
      return { image: toImageValue(files[0]!, made, file.name), width: made.width, height: made.height }
    },
  }
}

export const imageTransformNodes: NodeType[] = [
  defineImageTransform(
    'Resize',
    'Resize image',
    'Makes a picture larger or smaller. With one side, the other follows. A moving picture still moves where GIF or WebP is written.',
    [
      optionalProperty('width', 'int?', 'In pixels, or null.', SIDE_RANGE),
      optionalProperty('height', 'int?', 'In pixels, or null.', SIDE_RANGE),
      optionalProperty(
        'fit',
        createEnumType('inside', 'cover', 'contain', 'fill', 'outside'),
        'How both sides are met: inside keeps all of the picture within them, cover fills them and cuts off what is too much, contain adds a background, fill distorts, outside is at least as large.',
        { default: 'inside' },
      ),
      optionalProperty('enlarge', 'bool', 'Whether a smaller picture is made larger.', { default: true }),
      BACKGROUND_PROPERTY,
    ],
  ),
  defineImageTransform('Crop', 'Crop image', 'Cuts a part out of a picture.', [
    optionalProperty('left', 'int', 'Where the part begins, in pixels from the left.', { default: 0, min: 0 }),
    optionalProperty('top', 'int', 'Where the part begins, in pixels from the top.', { default: 0, min: 0 }),
    requiredProperty('width', 'int', 'In pixels.', SIDE_RANGE),
    requiredProperty('height', 'int', 'In pixels.', SIDE_RANGE),
  ]),
  defineImageTransform('Rotate', 'Rotate image', 'Turns a picture clockwise. It grows as far as its corners need.', [
    requiredProperty('angle', 'float', 'In degrees.', { min: -360, max: 360 }),
    BACKGROUND_PROPERTY,
  ]),
  defineImageTransform('Flip', 'Flip image', 'Mirrors a picture.', [
    optionalProperty(
      'axis',
      createEnumType('horizontal', 'vertical'),
      'horizontal swaps left and right, vertical top and bottom.',
      {
        default: 'horizontal',
      },
    ),
  ]),
  defineImageTransform('Blur', 'Blur image', 'Softens a picture.', [
    optionalProperty('radius', 'float', 'The standard deviation of the blur, in pixels.', {
      default: 3,
      min: 0.3,
      max: 1000,
    }),
  ]),
  defineImageTransform('Sharpen', 'Sharpen image', 'Sharpens the edges of a picture.', [
    optionalProperty('radius', 'float', 'How far the edges reach, in pixels.', { default: 1, min: 0.1, max: 10 }),
  ]),
  defineImageTransform('Grayscale', 'Turn image gray', 'Takes the colours out of a picture.', []),
  defineImageTransform('Adjust', 'Adjust image', 'Changes how bright and colourful a picture is.', [
    optionalProperty('brightness', 'float', '1 leaves it, 2 is twice as bright.', { default: 1, min: 0, max: 10 }),
    optionalProperty('saturation', 'float', '1 leaves it, 0 takes all colours out.', { default: 1, min: 0, max: 10 }),
    optionalProperty('hue', 'int', 'Turns all colours, in degrees.', { default: 0, min: -360, max: 360 }),
  ]),
  defineImageTransform(
    'Convert',
    'Convert image',
    'Writes a picture in another format. Nothing of its metadata is kept but its colours. A moving picture still moves where GIF or WebP is written.',
    [
      optionalProperty(
        'frame',
        'int?',
        'Which one is taken of a file with several frames or pages, such as a scan in TIFF, counted from 1. Null: the first, or all of a moving picture.',
        { min: 1, max: 1_000 },
      ),
    ],
  ),
]
