import type { Content } from '../../../src/api/common.ts'
import { Markdown } from '../../ui/markdown.tsx'
import { t } from '../../words.ts'

/** The words of it. */
export const textOf = (parts: readonly Content[] | undefined): string =>
  (parts ?? []).flatMap(part => ('text' in part ? [part.text] : [])).join('\n')

export const imagesOf = (parts: readonly Content[] | undefined): string[] =>
  (parts ?? []).flatMap(part => ('image_urls' in part ? part.image_urls : []))

const PICTURE = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,/i

/** Pictures that came with it are shown; those that lie elsewhere are not fetched without being asked for. */
export const Images = ({ urls }: { urls: readonly string[] }) =>
  urls.length === 0 ? null : (
    <div class="pictures">
      {urls.map((url, at) => (
        <Picture key={url.slice(0, 200) + at} url={url} number={at + 1} />
      ))}
    </div>
  )

function Picture({ url, number }: { url: string; number: number }) {
  const label = t('Picture {number}', { number })
  if (PICTURE.test(url)) return <img src={url} alt={label} />
  if (/^https?:/i.test(url))
    return (
      <a href={url} target="_blank" rel="noopener noreferrer">
        {t('{label}, at {host}', { label, host: hostOf(url) })}
      </a>
    )
  return <span class="quiet">{t('A picture that cannot be shown')}</span>
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : url)

/** What was said, in Markdown. */
export const Said = ({ parts }: { parts: readonly Content[] | undefined }) => {
  const text = textOf(parts)
  return (
    <>
      {text && <Markdown text={text} />}
      <Images urls={imagesOf(parts)} />
    </>
  )
}
