import { useRef, useState } from 'preact/hooks'
import type { AppConversationStartTask } from '../../src/api/app-conversations.ts'
import { useApp } from '../app.ts'
import { CAUTIONS, type Caution } from '../conversation/caution.ts'
import { contentOf } from '../conversation/composer.tsx'
import { hrefTo } from '../route.ts'
import { Icon } from '../ui/icon.tsx'
import { type Picture, pictures } from '../ui/images.ts'
import { Field, Problem } from '../ui/kit.tsx'
import { useAction } from '../ui/use-action.ts'
import { useKept } from '../ui/use-kept.ts'
import { useLoad } from '../ui/use-load.ts'
import { t } from '../words.ts'
import { useChoices } from './choices.ts'
import { ModelSetup } from './model-setup.tsx'
import { Place } from './place.tsx'
import { Progress } from './progress.tsx'
import { start } from './starting.ts'

const EXAMPLES = ['Show me around', 'Write a small web server with tests', 'Find out why the tests fail, and fix it']

/** A task, a model, a place: what a conversation begins with. */
export function StartView() {
  const { api, quiet, go, conversations, toasts } = useApp()
  const profiles = useLoad(() => quiet.listProfiles())
  const [choices, set] = useChoices()
  const [task, setTask] = useKept('new')
  const [images, setImages] = useState<readonly Picture[]>([])
  const [progress, setProgress] = useState<AppConversationStartTask>()
  const controller = useRef<AbortController | undefined>(undefined)
  const form = useRef<HTMLFormElement>(null)
  const all = profiles.value?.profiles ?? []
  const isFirst = profiles.value !== undefined && all.every(profile => profile.model?.startsWith('demo/'))
  const profile = all.some(({ name }) => name === choices.profile)
    ? choices.profile
    : (profiles.value?.active_profile ?? '')

  const begin = useAction(async () => {
    const content = contentOf(task.trim(), images)
    if (content.length === 0) return
    setProgress(undefined)
    controller.current = new AbortController()
    const { signal } = controller.current
    const id = await start({ api, choices: { ...choices, profile }, content, signal, onProgress: setProgress })
    setTask('')
    await conversations.refresh()
    go(['c', id])
  })

  return (
    <div class="panel start">
      <a class="back" href={hrefTo([])}>
        <Icon name="back" />
        {t('Conversations')}
      </a>
      <header>
        <h1>{isFirst ? t('Welcome to Gantry') : t('New conversation')}</h1>
        <p class="quiet">
          {isFirst
            ? t('An agent works for you in a sandbox, and asks before it does anything risky. The demo needs no key.')
            : t('What shall the agent do?')}
        </p>
      </header>
      {isFirst && (
        <ModelSetup
          onReady={name => {
            set({ profile: name })
            profiles.again()
          }}
        />
      )}
      <form
        ref={form}
        class="stack"
        aria-label={t('New conversation')}
        aria-busy={begin.busy}
        onSubmit={event => {
          event.preventDefault()
          begin.run()
        }}
      >
        <Field label={t('Task')}>
          {ids => (
            <textarea
              {...ids}
              rows={isFirst ? 3 : 5}
              required={images.length === 0}
              placeholder={t('Describe it as you would to a colleague. Enter starts, Shift+Enter begins a new line.')}
              value={task}
              onInput={event => setTask(event.currentTarget.value)}
              onPaste={event =>
                pictures(event.clipboardData?.files ?? []).then(
                  more => setImages([...images, ...more]),
                  toasts.complain,
                )
              }
              onKeyDown={event => {
                if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
                event.preventDefault()
                form.current?.requestSubmit()
              }}
            />
          )}
        </Field>
        {images.length > 0 && <p class="quiet">{t('{n} pictures go with it.', { n: images.length })}</p>}
        {task === '' && (
          <div class="row">
            {EXAMPLES.map(example => (
              <button key={example} type="button" class="start-example" onClick={() => setTask(t(example))}>
                {t(example)}
              </button>
            ))}
          </div>
        )}
        <Place choices={choices} set={set} />
        <div class="start-choices">
          <Field label={t('Model')}>
            {ids => (
              <select {...ids} value={profile} onChange={event => set({ profile: event.currentTarget.value })}>
                {all.map(({ name, model }) => (
                  <option key={name} value={name}>
                    {model === 'demo/guide'
                      ? t('The demo, no key needed')
                      : model && model !== name
                        ? `${model} (${name})`
                        : name}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <Field label={t('Caution')} hint={t(CAUTIONS[choices.caution].hint)}>
            {ids => (
              <select
                {...ids}
                value={choices.caution}
                onChange={event => set({ caution: event.currentTarget.value as Caution })}
              >
                {Object.entries(CAUTIONS).map(([value, { label }]) => (
                  <option key={value} value={value}>
                    {t(label)}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <Field label={t('Budget in dollars')} hint={t('It stops when that is spent. None when empty.')}>
            {ids => (
              <input
                {...ids}
                type="number"
                min="0"
                step="any"
                value={choices.budget}
                onInput={event => set({ budget: event.currentTarget.value })}
              />
            )}
          </Field>
        </div>
        <div class="row end start-end">
          <button type="submit" class="primary start-go" disabled={begin.busy}>
            <Icon name="play" />
            {begin.busy ? t('Starting…') : t('Start')}
          </button>
        </div>
      </form>
      {progress && (begin.busy || progress.status === 'ERROR') && (
        <Progress task={progress} onCancel={() => controller.current?.abort()} />
      )}
      <Problem error={begin.problem ?? profiles.problem} />
    </div>
  )
}
