import { Icon } from '../ui/icon.tsx'
import { t } from '../words.ts'
import type { Uploads } from './uploads.ts'

/** What is on its way, and what did not arrive. */
export function UploadList({ uploads }: { uploads: Uploads }) {
  const items = uploads.items.value
  if (items.length === 0) return null
  return (
    <ul class="workspace-uploads" aria-label={t('Uploads')}>
      {items.map(({ id, name, done, problem }) => (
        <li key={id}>
          <span class="workspace-upload-name">{name}</span>
          {problem === undefined ? (
            <progress value={done} aria-label={t('Upload of {name}', { name })} />
          ) : (
            <>
              <span class="workspace-upload-problem" role="alert">
                {problem}
              </span>
              <button type="button" class="icon" aria-label={t('Dismiss')} onClick={() => uploads.drop(id)}>
                <Icon name="close" />
              </button>
            </>
          )}
        </li>
      ))}
    </ul>
  )
}
