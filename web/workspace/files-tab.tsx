import { useEffect, useRef } from 'preact/hooks'
import { Icon } from '../ui/icon.tsx'
import { ActionButton, Empty, Loading, Problem } from '../ui/kit.tsx'
import { Menu } from '../ui/menu.tsx'
import { t } from '../words.ts'
import { chosen, type Dropped } from './dropped.ts'
import { FileTree } from './file-tree.tsx'
import { FileView } from './file-view.tsx'
import { archiveHref, type Place, shown } from './place.ts'
import type { Tree } from './tree.ts'

export interface FilesTabProps {
  place: Place
  tree: Tree
  /** Whenever it changes, the agent may have changed files. */
  runs: number
  onUpload: (files: readonly Dropped[]) => Promise<void>
}

export function FilesTab({ place, tree, runs, onUpload }: FilesTabProps) {
  const input = useRef<HTMLInputElement>(null)
  const list = useRef<HTMLDivElement>(null)
  useEffect(() => {
    tree.refresh()
  }, [tree, runs])
  const file = tree.viewed.value
  const folder = shown(place, tree.target())
  const close = () => {
    tree.closeFile()
    requestAnimationFrame(() => list.current?.querySelector<HTMLElement>('[role=treeitem][tabindex="0"]')?.focus())
  }
  return (
    <div class="files" data-viewing={file !== undefined}>
      <div class="files-side" ref={list}>
        <div class="workspace-bar">
          <span class="files-target" title={tree.target()}>
            {folder}
          </span>
          <button
            type="button"
            class="icon"
            aria-label={t('Upload to {folder}', { folder })}
            title={t('Upload to {folder}', { folder })}
            onClick={() => input.current?.click()}
          >
            <Icon name="upload" />
          </button>
          <input
            ref={input}
            type="file"
            multiple
            hidden
            aria-label={t('Files to upload')}
            onChange={event => {
              onUpload(chosen(event.currentTarget.files))
              event.currentTarget.value = ''
            }}
          />
          <ActionButton class="icon" icon="refresh" label={t('Refresh')} action={() => tree.refresh()} />
          <Menu
            label={t('Downloads')}
            icon="download"
            items={[
              {
                label: t('{folder} as .tar.gz', { folder }),
                onSelect: () => download(archiveHref(place, tree.target(), 'tar.gz')),
              },
              {
                label: t('Changes as a patch'),
                onSelect: () => download(archiveHref(place, place.root, 'git-delta')),
              },
            ]}
          />
        </div>
        <Listed tree={tree} />
      </div>
      {file && <FileView key={file.path} place={place} entry={file} version={tree.version.value} onClose={close} />}
    </div>
  )
}

function Listed({ tree }: { tree: Tree }) {
  const root = tree.root.value
  const problem = <Problem error={tree.problem.value} again={() => tree.refresh()} />
  if (!root) return tree.problem.value === undefined ? <Loading /> : problem
  return (
    <>
      {problem}
      {root.missing && (
        <Empty icon="folder" title={t('The working directory does not exist yet.')}>
          <p>{t('It is made when the agent starts to work. Files you drop here make it too.')}</p>
        </Empty>
      )}
      {!root.missing && root.entries.length === 0 && (
        <Empty icon="folder" title={t('Nothing here yet.')}>
          <p>{t('What the agent writes appears here. Drop files to give it something to work on.')}</p>
        </Empty>
      )}
      {root.entries.length > 0 && <FileTree tree={tree} />}
      {root.cut && <p class="tree-note">{t('It holds more than is shown.')}</p>}
    </>
  )
}

/** As if a link had been clicked: the answer is an attachment, so that the page stays. */
function download(href: string): void {
  const link = document.createElement('a')
  link.href = href
  link.download = ''
  link.click()
}
