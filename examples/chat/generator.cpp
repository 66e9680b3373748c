// SPDX-License-Identifier: MIT
#include "generator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "input_error.hpp"

namespace chat {

using model_files::input_error;

namespace {

/// A text that is being written.
struct answer {
    std::size_t prompt;  // its number
    cached_attention::sequence sequence;
    std::int64_t tokens = 0;
    std::int32_t chosen = 0;  // the last one
    std::mt19937_64 random;
};

std::int64_t length_of(const token_ids &prompt, const generator_settings &settings) {
    return static_cast<std::int64_t>(prompt.size()) + settings.max_tokens;
}

void check(const language_model &model, const std::vector<token_ids> &prompts, const generator_settings &settings) {
    for (std::size_t i = 0; i < prompts.size(); ++i) {
        if (prompts[i].empty()) throw input_error(fmt::format("prompt {} is empty", i + 1));
        if (length_of(prompts[i], settings) > model.max_tokens()) {
            throw input_error(fmt::format("prompt {} has {} tokens, with up to {} more the model's {} do not suffice",
                                          i + 1, prompts[i].size(), settings.max_tokens, model.max_tokens()));
        }
    }
}

/// With pages enough for whichever prompts are being answered at the same time.
cached_attention attention_for(const language_model &model, const std::vector<token_ids> &prompts,
                               const generator_settings &settings) {
    const std::int64_t window = settings.window > 0 ? settings.window : model.max_tokens();
    std::int64_t page_size = settings.page_size;
    if (page_size == 0) {
        for (const token_ids &prompt : prompts) page_size = std::max(page_size, length_of(prompt, settings));
    }
    std::vector<std::int64_t> pages;
    pages.reserve(prompts.size());
    for (const token_ids &prompt : prompts) {
        pages.push_back(cached_attention::pages_needed(static_cast<std::int64_t>(prompt.size()),
                                                       length_of(prompt, settings), page_size, window));
    }
    std::sort(pages.begin(), pages.end(), std::greater<>());
    pages.resize(std::min(pages.size(), static_cast<std::size_t>(settings.at_once)));
    return {{.type = settings.cache_type,
             .pages = std::accumulate(pages.begin(), pages.end(), std::int64_t{0}),
             .page_size = page_size,
             .layers = model.layer_count()},
            window};
}

std::int32_t most_likely(const float *logits, std::int32_t count) {
    return static_cast<std::int32_t>(std::max_element(logits, logits + count) - logits);
}

std::int32_t choose(const float *logits, std::int32_t count, double temperature, std::mt19937_64 &random) {
    const std::int32_t best = most_likely(logits, count);
    if (temperature == 0) return best;
    std::vector<double> up_to(static_cast<std::size_t>(count));
    double sum = 0;
    for (std::int32_t i = 0; i < count; ++i) {
        sum += std::exp((static_cast<double>(logits[i]) - static_cast<double>(logits[best])) / temperature);
        up_to[static_cast<std::size_t>(i)] = sum;
    }
    // The standard's distributions differ between libraries, its generators do not.
    const double drawn = static_cast<double>(random() >> 11) * 0x1p-53 * sum;
    const auto chosen = std::upper_bound(up_to.begin(), up_to.end() - 1, drawn);  // rounding may have drawn the sum
    return static_cast<std::int32_t>(chosen - up_to.begin());
}

forward_times scaled(const forward_times &times, double factor) {
    return {times.matrix_products * factor, times.attention * factor, times.total * factor};
}

}  // namespace

generator_report generate(language_model &model, const tokenizer &tokenizer, const std::vector<token_ids> &prompts,
                          const generator_settings &settings, const token_listener &listener) {
    check(model, prompts, settings);
    generator_report report;
    if (prompts.empty() || settings.max_tokens < 1) return report;

    cached_attention attention = attention_for(model, prompts, settings);
    report.cache_bytes = attention.bytes();
    std::vector<answer> answers;
    for (std::size_t waiting = 0; waiting < prompts.size() || !answers.empty();) {
        while (waiting < prompts.size() && answers.size() < static_cast<std::size_t>(settings.at_once)) {
            answers.push_back(
                {.prompt = waiting, .sequence = attention.add(), .random = std::mt19937_64(settings.seed + waiting)});
            ++waiting;
        }

        std::vector<language_model::next_tokens> step;
        std::int64_t prompt_rows = 0, answer_rows = 0;
        for (const answer &answer : answers) {
            const token_ids &prompt = prompts[answer.prompt];
            if (answer.tokens == 0) {
                step.push_back({answer.sequence, prompt});
                prompt_rows += static_cast<std::int64_t>(prompt.size());
            } else {
                step.push_back({answer.sequence, {&answer.chosen, 1}});
                ++answer_rows;
            }
        }
        forward_times times;
        const matrix &logits = model.forward(step, attention, times);
        const double prompt_share = static_cast<double>(prompt_rows) / static_cast<double>(prompt_rows + answer_rows);
        report.prompts += scaled(times, prompt_share);
        report.answers += scaled(times, 1 - prompt_share);
        report.prompt_tokens += prompt_rows;
        report.answer_tokens += answer_rows;

        Eigen::Index row = 0;
        std::vector<answer> unfinished;
        for (answer &answer : answers) {
            answer.chosen =
                choose(logits.row(row++).data(), tokenizer.vocabulary_size(), settings.temperature, answer.random);
            ++answer.tokens;
            const bool last = tokenizer.ends_answer(answer.chosen) || answer.tokens == settings.max_tokens;
            listener(answer.prompt, answer.chosen, last);
            if (last) {
                attention.remove(answer.sequence);
            } else {
                unfinished.push_back(answer);
            }
        }
        answers = std::move(unfinished);
    }
    return report;
}

}  // namespace chat
