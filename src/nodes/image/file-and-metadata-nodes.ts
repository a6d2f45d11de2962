// image.*: loads and saves pictures, and reads their metadata. Metadata never contains the location where a picture was taken.
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { folderProperty, saveFileAsAsset } from '../asset-save-list-nodes.ts'
import { createFileNeedsReader, readFileInput, replaceExtension, runMediaTask } from '../shared/file-inputs.ts'
import { optionalProperty, valueOutput } from '../shared/node-type-builders.ts'
import { FORMAT_PROPERTIES, IMAGE_PROPERTY, type MadeImage } from './transform-nodes.ts'

interface ImageFacts {
  readonly width: number
  readonly height: number
  readonly format: string
  readonly content_type: string
}

const HISTOGRAM_CHANNELS = ['red', 'green', 'blue', 'alpha', 'luminance']

export const imageFileNodes: NodeType[] = [
  {
    node_type: 'image.Load',
    title: 'Load image',
    description:
      'Loads a picture and reports its size and format. Its bytes stay unchanged, including camera metadata; image.Save and image.Convert remove the location.',
    properties: [IMAGE_PROPERTY],
    outputs: [
      valueOutput('image', 'image'),
      valueOutput('width', 'int'),
      valueOutput('height', 'int'),
      valueOutput('format', 'str'),
      valueOutput('name', 'str?'),
    ],
    needs: createFileNeedsReader('image'),
    async run({ image }, context) {
      const file = await readFileInput(image, 'The image', context)
      const { value } = await runMediaTask('image.metadata', [file], {}, context)
      const { width, height, format, content_type } = value as ImageFacts
      const named = file.name === null ? {} : { name: file.name }
      const loaded = { type: 'image', data: file.bytes, content_type, ...named, width, height }
      return { image: loaded, width, height, format, name: file.name }
    },
  },
  {
    node_type: 'image.Save',
    title: 'Save image',
    description:
      'Saves a picture as an asset of the user who runs the workflow, like asset.Save. Its bytes stay unchanged if neither format nor quality is set and it has no camera metadata. Otherwise it is written anew, without the location.',
    properties: [
      IMAGE_PROPERTY,
      optionalProperty(
        'name',
        'str',
        'The name of the asset. Empty: the name of the picture, else the asset id. The extension follows the format.',
        {
          default: '',
        },
      ),
      folderProperty('that the asset is put into. Null: the top level.'),
      ...FORMAT_PROPERTIES,
    ],
    outputs: [valueOutput('asset', 'any'), valueOutput('width', 'int'), valueOutput('height', 'int')],
    effect: true,
    needs: createFileNeedsReader('image'),
    async run({ image, name, folder, ...params }, context) {
      const file = await readFileInput(image, 'The image', context)
      const { files, value } = await runMediaTask('image.save', [file], params, context)
      const { width, height, content_type, extension } = value as MadeImage
      const named = replaceExtension((name as string) || file.name, extension)
      const asset = await saveFileAsAsset(
        { bytes: files[0]!, content_type, name: null },
        { name: named ?? '', content_type, folder: folder as string | null },
        context,
      )
      return { asset, width, height }
    },
  },
  {
    node_type: 'image.Metadata',
    title: 'Image metadata',
    description:
      'Reads the metadata of a picture: format, size, frames, channels, depth, colour_space, density, orientation, and the texts and numbers of its camera as exif. The location is left out.',
    properties: [IMAGE_PROPERTY],
    outputs: [
      valueOutput('width', 'int'),
      valueOutput('height', 'int'),
      valueOutput('format', 'str'),
      valueOutput('has_alpha', 'bool'),
      valueOutput('metadata', 'dict[str,any]'),
    ],
    needs: createFileNeedsReader('image'),
    async run({ image }, context) {
      const { value } = await runMediaTask(
        'image.metadata',
        [await readFileInput(image, 'The image', context)],
        {},
        context,
      )
      const metadata = value as ImageFacts & { has_alpha: boolean }
      const { width, height, format, has_alpha } = metadata
      return { width, height, format, has_alpha, metadata }
    },
  },
  {
    node_type: 'image.Histogram',
    title: 'Image histogram',
    description:
      'Counts for each channel how many pixels have each of its 256 levels. The luminance is that of Rec. 709.',
    properties: [IMAGE_PROPERTY],
    outputs: [...HISTOGRAM_CHANNELS.map((name) => valueOutput(name, 'list[int]')), valueOutput('pixels', 'int')],
    needs: createFileNeedsReader('image'),
    async run({ image }, context) {
      const { value } = await runMediaTask(
        'image.histogram',
        [await readFileInput(image, 'The image', context)],
        {},
        context,
      )
      return value as Record<string, unknown>
    },
  },
]
